"""Judges build-tool-absent (PYT037), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._build_parts import told

TOML = words_of(__name__)
PROBLEM = TOML.problem


_NOT_HERE = later(
    r"Python\.h$|^(?:std(?:def|lib|io|int|bool|arg)|limits|string|features|omp)\.h$|^bits/"
)  # TOR017 knows these
#: DeepSpeed tries to link the last two, to see whether they are there, and goes on without
_STARTED = 5  # place of Python's words for a program that cannot be started
_NO_LIBRARY = frozenset({"cuda", "c", "m", "pthread", "aio", "cufile"})


def explain(hits: Hits) -> Finding | None:
    """What the first hit lacks; None for what another problem tells."""
    groups = {name: value for name, value in hits.first.groups.items() if value}
    name, value = next(iter(groups.items()), ("", ""))
    if (name == "header" and _NOT_HERE.search(value)) or (name == "library" and value in _NO_LIBRARY):
        return None
    if name == "library" and value == "aio.lib":  # DeepSpeed probes for libaio on Windows, too
        name, value = "op", "async_io"
    started = any("subprocess" in frame for frame in hits.first.frames)
    if name == "tool" and hits.first.frames and hits.first.signature == _STARTED and not started:
        return None  # a file or folder of that name
    message, values = told(name.rstrip("23"), value)
    # a script of one's own may want it for something else than a package
    confidence = LIKELY if hits.first.text.endswith("nvcc: command not found") else CONFIRMED
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=confidence, **values
    )  # fmt: skip
