"""The CPUs are full and the GPUs wait.

## What it means
All CPU cores of the machine work at their limit while the GPUs have little to do: tokenizing, reward functions, data
loading or the launch of many small kernels holds the run up. Another program on the machine does the same.
## What it does to a run
The GPUs idle, and more of them would change nothing.
## What to do
Look which processes use the CPU. Move slow reward functions into processes of their own, tokenize beforehand, use more
`dataloader_num_workers` where cores are free, and ask the cluster for more cores per GPU.
## How it is found
In the figures of `doctor monitor`: the CPUs of the machine were at 90 % or more and the GPUs together below 30 %, in
more than half of the time and for at least two minutes.
## References
https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
https://huggingface.co/docs/transformers/perf_train_gpu_one
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.usage_rules import place

PROBLEM = Problem(id="PRF012", name="gpus-wait-for-cpu", severity=WARNING, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "all CPUs are full and the GPUs wait, in {share} % of the time",
        "Work on the CPU (tokenizing, reward functions, data loading, or another program) holds the GPUs up, which "
        "were {gpu} % active meanwhile.",
        "See which processes use the CPU; move slow reward functions into processes of their own, prepare data "
        "beforehand, and ask for more cores.",
    ),
    zh=Words(
        "{share} % 的时间里 CPU 全部占满而 GPU 在等待",
        "CPU 上的工作(分词、奖励函数、数据加载或其他程序)拖住了 GPU,期间 GPU 活跃度仅 {gpu} %。",
        "查看哪些进程占用 CPU;将慢的奖励函数移到单独的进程,提前处理数据,并申请更多核心。",
    ),
)

FULL, WAITING, LEAST_SHARE, LEAST_S = 90.0, 30.0, 0.5, 120.0


@rule(PROBLEM, needs=("usage/bin_s", "usage/activity_pct", "host/cpu_pct"))
class GpusWaitForCpu:
    """Counts the bins in which the CPUs are full and the GPUs are not."""

    wants = ("gpus", "hosts")

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._gpus: Optional[Point] = None
        self._last: Optional[Point] = None
        self._bins = self._bad = 0
        self._activity = 0.0

    def update(self, point: Point) -> Optional[Finding]:
        """Pair the GPUs' figure with the CPUs' of the same bin."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name == "usage/activity_pct":
            self._gpus = point
        elif self._gpus is not None and self._gpus.step == point.step:
            self._bins += 1
            if point.value >= FULL and self._gpus.value < WAITING:
                self._bad += 1
                self._activity += self._gpus.value
                self._last = point
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        if self._last is None or self._bad <= LEAST_SHARE * self._bins or self._bad * self._bin_s < LEAST_S:
            return None
        text = f"CPU at {FULL:.0f} % or more with GPUs below {WAITING:.0f} % in {self._bad} of {self._bins} bins"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, share=f"{100 * self._bad / self._bins:.0f}",
            gpu=f"{self._activity / self._bad:.0f}", **place(self._last, text),
        )  # fmt: skip
