"""What the rules on sampled usage share: names of the coarse series, a bounded memory of it, and where a finding is.

The report cuts a run into equal bins and feeds one point a bin and figure: ``usage/bin_s`` (once: seconds of a bin),
``gpu/<label>/<figure>`` (``busy_power_pct``: percent of the power limit, told for bins in which the card was busy
throughout; ``vllm_<pid>_awake_mib`` and ``..._asleep_mib``: samples of what a vLLM process holds on the card),
``role/trainer/activity_pct``, ``role/server/activity_pct``, ``host/<figure>``; `step` is the number of the bin. Runs
inside the patient too, so it keeps to Python 3.9 and the standard library.

A rule says in its attribute ``wants`` what a run must tell for it to judge at all; where that is missing the report
says so: ``gpus``, ``roles`` (of the processes on them), ``engines`` (vLLM's own processes), ``power`` (beside the busy
figure and the limit), ``hosts``.
"""

from __future__ import annotations

import re
from typing import Any, Optional

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Where
from doctor.catalogue.series import Point

_INDEX = re.compile(r"(?:.*:)?(\d+)")


def gpu_of(name: str) -> str:
    """The GPU's label in ``gpu/<label>/<figure>``: 3, node1:3, 3 MIG 2."""
    return name.split("/")[1]


def place(point: Point, text: str) -> dict[str, Any]:
    """`where` and `evidence` of a finding about usage, for ``found(..., **place(point, text))``."""
    file, _, line = point.source.rpartition(":")
    if not line.isdigit():
        file, line = point.source, ""
    label = gpu_of(point.name) if point.name.startswith("gpu/") else ""
    match = _INDEX.match(label)
    host = label.rpartition(":")[0] or None
    where = Where(file=file or None, line=int(line) if line else None, gpu=int(match[1]) if match else None, host=host)
    return {"where": where, "evidence": (Observed.quoted(file or "metrics", text),)}


class Buckets:
    """The highest value of each stretch of a series, in at most `size` equal stretches however long it is."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._each = 1
        self._peaks: list[float] = []
        self._peak: Optional[float] = None
        self._in = 0

    def push(self, value: float) -> None:
        """Take one value in."""
        self._peak = value if self._peak is None else max(self._peak, value)
        self._in += 1
        if self._in < self._each:
            return
        self._peaks.append(self._peak)
        self._peak, self._in = None, 0
        if len(self._peaks) == self._size:
            self._peaks = [max(self._peaks[at : at + 2]) for at in range(0, self._size, 2)]
            self._each *= 2

    def parts(self, count: int, skip_share: float) -> list[float]:
        """Highest value of each of `count` equal parts, a first share left out; empty for too short a series."""
        kept = self._peaks[int(len(self._peaks) * skip_share) :]
        if len(kept) < count:
            return []
        edges = [len(kept) * part // count for part in range(count + 1)]
        return [max(kept[edges[part] : edges[part + 1]]) for part in range(count)]
