"""What can go wrong, by name: the entry of the catalogue that check, rule, signature and fix share.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Mapping

from doctor.base.patterns import later
from doctor.base.record import record


class Severity(str, Enum):
    """How bad it is for the run: it will fail, it may go wrong, or it is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for error, 1 for warning, 2 for info: sorts the most important first."""
        return ("error", "warning", "info").index(self.value)


ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

#: areas whose warnings are of what is learnt, by the letters of their ids
OF_TRAINING = ("RLX", "NUM", "DAT", "TRL", "TRF", "FLA", "PFT", "ACC", "DSP", "VRL")

#: folder under ``checks/`` -> prefix of the ids in it
AREAS: Mapping[str, str] = {
    "python": "PYT", "cuda": "CUD", "gpu": "GPU", "nccl": "NCC", "host": "HST", "trl": "TRL", "vllm": "VLL",
    "deepspeed": "DSP", "accelerate": "ACC", "transformers": "TRF", "peft": "PFT", "fsdp": "FSD",
    "flash_attn": "FLA", "verl": "VRL", "trinity": "TRI", "ray": "RAY", "openrlhf": "ORL", "torch": "TOR",
    "bitsandbytes": "BNB", "tracking": "TRK", "hub": "HUB", "data": "DAT", "checkpoint": "CKP", "numerics": "NUM",
    "rl": "RLX", "perf": "PRF", "memory": "MEM", "launch": "LCH", "unknown": "UNK",
    "witness": "WIT",
}  # fmt: skip
#: prefix of an id -> area
AREA_OF: Mapping[str, str] = {prefix: area for area, prefix in AREAS.items()}

#: of a problem, and of a row of one that is a table: ``LCH4821/deepspeed``
_ID = later(r"[A-Z]{3}[0-9]{3,4}(/[a-z0-9]+(_[a-z0-9]+)*)?")
ROW = "/"
_NAME = later(r"[a-z0-9]+(-[a-z0-9]+)*")


@record
class Problem:
    """One thing that can go wrong, under an id that never changes its meaning.

    Args:
        id: three capitals of the area and digits: four of a hash of the name, ``VLL4821``, or three, ``VLL001``; of a
            row of a table (one idea that shows in several libraries or phases) with its name, ``LCH4821/deepspeed``.
        name: kebab-case, names what is wrong, never what to do.
        severity: the usual one; a finding may state another.
        since: first doctor version that knew it.
        affects: distribution -> PEP 440 range in which it exists. The engine keeps a check silent unless
            every named distribution is installed in its range, so a check need not look again.
        ends_run: False where no run can end of it: it makes one slow, or is worth knowing. Where a log breaks off, such
            a problem is no reason.
        about: folder under ``checks/`` of the library that a row is about, where that is another than the problem's.

    """

    id: str
    name: str
    severity: Severity
    since: str
    affects: Mapping[str, str] = field(default_factory=dict)
    ends_run: bool = True
    about: str = ""

    def __post_init__(self) -> None:
        """Refuse ids and names that could not be said aloud or linked to."""
        if not _ID.fullmatch(self.id) or self.id[:3] not in AREAS.values():
            msg = f"bad problem id {self.id!r}"
            raise ValueError(msg)
        if not _NAME.fullmatch(self.name):
            msg = f"problem name {self.name!r} is not kebab-case"
            raise ValueError(msg)

    @property
    def area(self) -> str:
        """The folder under ``checks/`` that holds it."""
        return AREA_OF[self.id[:3]]

    @property
    def family(self) -> str:
        """Its id without the row."""
        return self.id.partition(ROW)[0]

    @property
    def row(self) -> str:
        """The row of a table that it is, "" where it is a problem by itself."""
        return self.id.partition(ROW)[2]

    @property
    def letters(self) -> str:
        """Those of the area that signatures mean by it: of the library that it is about."""
        return AREAS[self.about] if self.about else self.id[:3]

    def goes_by(self, name: str) -> bool:
        """Whether an id, a name or the letters of an area mean it; the id of a table means all of its rows."""
        return name in (self.id, self.family, self.name, self.letters, self.id[:3])
