"""A GPU reports 100 % busy and draws little power: it is occupied, not at work.

## What it means
`utilization.gpu` counts the time in which some kernel was resident, on however few SMs. A collective operation that
waits for another rank spins in such a kernel: 100 % busy, a quarter of the power. So do streams of very small kernels.
## What it does to a run
The card looks fully used in `nvidia-smi` and does next to nothing; a hang looks like this as well.
## What to do
If the run stands still, look for the rank that all others wait for (`py-spy dump --pid` shows where each one is). If it
moves on, look for what keeps kernels small: micro batches of one, decoding without CUDA graphs, a long wait in NCCL.
## How it is found
In the figures of `doctor monitor`: for at least two minutes and a tenth of the run, the busy figure was 95 % or more
while the card drew less than 30 % of its power limit. Where GPM or DCGM tell the activity of the SMs, trust that more.
## References
https://docs.nvidia.com/deploy/nvml-api/structnvmlUtilization__t.html
https://github.com/NVIDIA/nccl/issues/968
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.usage_rules import gpu_of, place

PROBLEM = Problem(id="PRF015", name="busy-at-low-power", severity=WARNING, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "GPU {gpu} was 100 % busy at {power} % of its power limit for {minutes} min",
        "Busy means that some kernel was resident, on however few SMs. At this power it waited, as a collective "
        "operation waits for another rank, or ran very small kernels.",
        "If the run stands still, look for the rank that the others wait for. Else look for small kernels and for "
        "waiting in NCCL in a profile.",
    ),
    zh=Words(
        "GPU {gpu} 有 {minutes} 分钟显示 100 % 忙碌,功耗却只有上限的 {power} %",
        "“忙碌”只表示有内核驻留,无论占用多少 SM。在这样的功耗下,它在等待(例如集合通信在等其他 rank),"
        "或只运行很小的内核。",
        "如果训练停住,找出其他 rank 在等待的那个 rank;否则用性能分析查看小内核与 NCCL 等待。",
    ),
)

#: percent of the power limit that is little; seconds and share of the run that are worth a word
LOW, LEAST_S, LEAST_SHARE = 30.0, 120.0, 0.10


@rule(PROBLEM, needs=("usage/bin_s", "usage/activity_pct", "gpu/*/busy_power_pct"))
class BusyAtLowPower:
    """Counts the bins in which a card was busy throughout and drew little power."""

    wants = ("gpus", "power")

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._bins_of_run = 0
        self._bins: dict[str, int] = {}
        self._sum: dict[str, float] = {}
        self._first: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take one bin in; the power of a card comes only for bins in which it was busy throughout."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name == "usage/activity_pct":
            self._bins_of_run += 1
        elif point.name.endswith("/busy_power_pct") and point.value < LOW:
            gpu = gpu_of(point.name)
            self._bins[gpu] = self._bins.get(gpu, 0) + 1
            self._sum[gpu] = self._sum.get(gpu, 0.0) + point.value
            self._first.setdefault(gpu, point)
        return None

    def finish(self) -> Optional[Finding]:
        """The card that was so for longest, if for long enough."""
        if not self._bins:
            return None
        gpu = max(self._bins, key=lambda each: self._bins[each])
        bins = self._bins[gpu]
        if bins * self._bin_s < LEAST_S or bins < LEAST_SHARE * self._bins_of_run:
            return None
        power = f"{self._sum[gpu] / bins:.0f}"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, gpu=gpu, power=power, minutes=f"{bins * self._bin_s / 60:.0f}",
            **place(self._first[gpu], f"busy throughout at {power} % of the power limit"),
        )  # fmt: skip
