"""Judges memory-creeping (MEM023), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import Buckets, gpu_of, place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, PROCESS = TOML["main"], TOML["process"]


#: parts, steps that must rise, growth, and its least amount in MiB
PARTS, RISES, GROWTH = 8, 6, 1.1
LEAST_MIB = {"memory_used_mib": 1024.0, "shm_used_mib": 512.0, "host": 4096.0}
SKIP, LEAST_S = 0.25, 1800.0


@rule(PROBLEM, needs=("usage/bin_s", "gpu/*_used_mib", "host/memory_used_mib", "host/shm_used_mib"))
class MemoryCreeping:
    """Keeps the peaks of each memory in a bounded number of parts."""

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._seen: dict[str, Buckets] = {}
        self._bins: dict[str, int] = {}
        self._last: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take one bin of one memory in."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name.endswith("_used_mib"):
            self._seen.setdefault(point.name, Buckets()).push(point.value)
            self._bins[point.name] = self._bins.get(point.name, 0) + 1
            self._last[point.name] = point
        return None

    def finish(self) -> Optional[Finding]:
        """The memory that grew most, if any crept."""
        grown = {name: growth for name in self._seen if (growth := self._growth(name)) is not None}
        if not grown:
            return None
        name = max(grown, key=lambda each: grown[each][1] - grown[each][0])
        first, last = grown[name]
        peaks = f"peaks {first:.0f} to {last:.0f} MiB"
        hours = self._bins[name] * self._bin_s * (1 - SKIP) * (PARTS - 1) / PARTS / 3600
        what = f"GPU {gpu_of(name)}" if name.startswith("gpu/") else "shared memory" if "shm" in name else "the machine"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, what=what, first=f"{first / 1024:.1f}", last=f"{last / 1024:.1f}",
            rate=f"{(last - first) / 1024 / hours:.2g}", **place(self._last[name], peaks),
        )  # fmt: skip

    def _growth(self, name: str) -> Optional[tuple[float, float]]:
        """Peak of the first and of the last part, when it crept."""
        parts = self._seen[name].parts(PARTS, SKIP)
        figure = name.rpartition("/")[2]
        least = LEAST_MIB["host"] if name == "host/memory_used_mib" else LEAST_MIB.get(figure)
        if least is None or not parts or self._bins[name] * self._bin_s < LEAST_S:
            return None
        rises = sum(later > earlier for earlier, later in zip(parts, parts[1:]))  # noqa: B905, RUF007 - Python 3.9
        crept = rises >= RISES and parts[-1] > GROWTH * parts[0] and parts[-1] - parts[0] >= least
        return (parts[0], parts[-1]) if crept else None


#: logged values that all rise; growth over all of them; how far from one straight line they may lie, as a share of the
#: growth. What fills a cache or a pool flattens out; mapped files that are read in order reach that line, too, and are
#: named in the message
ROWS, MORE, OFF_LINE = 8, 1.4, 0.08
#: values that are kept: of more only every second
_KEPT = 64


@rule(PROBLEM, needs=("memory/rss",))
class ProcessGrows:
    """The resident memory of the process as the program prints it: it rises in a straight line with every step."""

    def __init__(self) -> None:
        self._told: list[Point] = []
        self._every, self._count = 1, 0
        self._rises = True
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one value in; one that does not rise settles it."""
        before, self._last = self._last, point
        self._rises = self._rises and math.isfinite(point.value) and (before is None or point.value >= before.value)
        if not self._rises:
            return None
        if self._count % self._every == 0:
            self._told.append(point)
        self._count += 1
        if len(self._told) > _KEPT:
            self._told, self._every = self._told[::2], 2 * self._every
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        first, last = (self._told[0], self._last) if self._told and self._rises else (None, None)
        if first is None or last is None or self._count < ROWS or not last.value >= MORE * first.value > 0:
            return None
        grown = last.value - first.value
        rate = grown / (self._count - 1)
        off = max(abs(first.value + rate * self._every * at - each.value) for at, each in enumerate(self._told))
        if off > OFF_LINE * grown:
            return None
        where = place(last, f"rss {first.value:g} to {last.value:g}")
        return found(
            PROBLEM, PROCESS, confidence=LIKELY, first=f"{first.value:g}", last=f"{last.value:g}", count=self._count,
            times=f"{last.value / first.value:.2g}", **where,
        )  # fmt: skip
