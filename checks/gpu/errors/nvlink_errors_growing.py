"""Judges nvlink-errors-growing (GPU016), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import gpu_of, place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: of NVIDIA's DCGM: errors of these kinds are at fault from the first on, CRC errors only at such a rate
GRAVE, MOST_CRC_PER_S = ("replay", "recovery"), 100.0


@rule(PROBLEM, needs=("gpu/*_replay", "gpu/*_recovery", "gpu/*_crc_per_s"))
class NvlinkErrorsGrowing:
    """Adds up what is new on each link: `gpu/<label>/nvlink_<link>_replay`, `..._recovery`, `..._crc_per_s`."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, float]] = {}
        self._first: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take what one look at a link found."""
        begin, _, rest = point.name.partition("/nvlink_")
        number, _, kind = rest.partition("_")
        if number.isdigit():
            counts = self._counts.setdefault(f"{begin}/{number}", dict.fromkeys((*GRAVE, "crc_per_s"), 0.0))
            counts[kind] = max(counts[kind], point.value) if kind == "crc_per_s" else counts[kind] + point.value
            self._first.setdefault(f"{begin}/{number}", point)
        return None

    def finish(self) -> Optional[Finding]:
        """The link with the most errors, of those that are at fault."""
        bad = {
            link: counts
            for link, counts in self._counts.items()
            if any(counts[kind] for kind in GRAVE) or counts["crc_per_s"] >= MOST_CRC_PER_S
        }
        if not bad:
            return None
        worst = max(bad, key=lambda each: (bad[each]["recovery"], bad[each]["replay"], bad[each]["crc_per_s"]))
        replays, recoveries, crc = (f"{bad[worst][kind]:.0f}" for kind in (*GRAVE, "crc_per_s"))
        text = f"replay +{replays}, recovery +{recoveries}, CRC up to {crc} a second"
        gpu = gpu_of(worst)
        return found(
            PROBLEM, MESSAGE, confidence=CONFIRMED, link=worst.rpartition("/")[2], gpu=gpu, replays=replays,
            recoveries=recoveries, crc=crc, others=len(bad) - 1,
            commands=(f"nvidia-smi nvlink -e -i {gpu.rpartition(':')[2]}",), **place(self._first[worst], text),
        )  # fmt: skip
