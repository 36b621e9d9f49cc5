"""One GPU runs at a lower clock than the others while all of them work.

## What it means
All GPUs do the same work, and one of them does it at a clearly lower clock: heat, a power brake, a lower power limit,
application clocks set on this card alone, or another program on it.
## What it does to a run
Synchronous training runs at the speed of its slowest card: all others wait for it in every collective operation.
## What to do
Compare the card with its neighbours: temperature, power limit, clock event reasons, processes.
## How it is found
In the figures of `doctor monitor`: the median SM clock of the card, while it was active, lies more than 10 % below the
median of the other cards of the run, over at least a minute of activity.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
https://docs.nvidia.com/deploy/nvidia-smi/index.html
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.stats import Window, median_of_sorted
from doctor.core.usage_rules import gpu_of, place

PROBLEM = Problem(id="PRF011", name="gpu-slower-than-others", severity=WARNING, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "GPU {gpu} works at {own} MHz, the others at {others} MHz",
        "Synchronous training runs at the speed of its slowest card, so all others wait for this one.",
        "Compare the card with its neighbours: heat, power limit, clocks that were set, other programs on it.",
    ),
    zh=Words(
        "GPU {gpu} 工作在 {own} MHz,其余为 {others} MHz",
        "同步训练的速度由最慢的卡决定,其余的卡都在等它。",
        "与相邻的卡比较:温度、功率上限、被设定的时钟、卡上的其他程序。",
    ),
)

#: percent of activity that counts as working; share below the others; seconds of work; clocks kept a card
WORKING, BELOW, LEAST_S, KEPT = 20.0, 0.10, 60.0, 512


@rule(PROBLEM, needs=("usage/bin_s", "gpu/*/activity_pct", "gpu/*/sm_clock_mhz"))
class GpuSlowerThanOthers:
    """Keeps the clocks of the bins in which a card worked."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._activity: dict[str, Point] = {}
        self._clocks: dict[str, Window] = {}
        self._bins: dict[str, int] = {}
        self._last: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take a clock in when the card's activity of the same bin says that it worked."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name.endswith("/activity_pct"):
            self._activity[gpu_of(point.name)] = point
        elif point.name.endswith("/sm_clock_mhz"):
            gpu = gpu_of(point.name)
            activity = self._activity.get(gpu)
            if activity is not None and activity.step == point.step and activity.value >= WORKING:
                self._clocks.setdefault(gpu, Window(KEPT)).push(point.value)
                self._bins[gpu] = self._bins.get(gpu, 0) + 1
                self._last[gpu] = point
        return None

    def finish(self) -> Optional[Finding]:
        """Compare the slowest card with the others."""
        medians = {gpu: each.median for gpu, each in self._clocks.items() if self._bins[gpu] * self._bin_s >= LEAST_S}
        if len(medians) < 2:
            return None
        slowest = min(medians, key=lambda gpu: medians[gpu])
        others = median_of_sorted(sorted(value for gpu, value in medians.items() if gpu != slowest))
        if medians[slowest] >= (1 - BELOW) * others:
            return None
        text = (
            f"median SM clock while active: {medians[slowest]:.0f} MHz, of the {len(medians) - 1} others {others:.0f}"
        )
        return found(
            PROBLEM, MESSAGE, gpu=slowest, own=f"{medians[slowest]:.0f}", others=f"{others:.0f}",
            commands=("nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE",), **place(self._last[slowest], text),
        )  # fmt: skip
