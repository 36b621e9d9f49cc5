"""The GPUs of a run were idle for most of its time.

## What it means
More than half of the GPU time that the run held was spent without work on the GPU.
## What it does to a run
Nothing breaks; the hours are paid for.
## What to do
See in `doctor report` in which phase and on which GPUs the hours went: loading and compiling at the start, generation
on too few GPUs, reward functions, evaluation, checkpoints, or GPUs that no process uses.
## How it is found
In the figures of `doctor monitor`: the activity of a GPU (SM activity where it is known, else the busy figure) below
5 % counts as idle; more than half of all GPU time of a run of at least ten minutes.
## References
https://huggingface.co/docs/trl/speeding_up_training
"""

from __future__ import annotations

from typing import Optional

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.series import Point, rule
from doctor.core.usage_rules import gpu_of, place

PROBLEM = Problem(id="PRF013", name="gpus-mostly-idle", severity=WARNING, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "{share} % of the GPU time was idle: {hours} GPU-hours on {gpus} GPUs",
        "The GPUs were held and had no work. The most idle is GPU {worst} with {most} %.",
        "See in `doctor report` in which phase the hours went, and leave out GPUs that no process uses.",
    ),
    zh=Words(
        "{share} % 的 GPU 时间空闲:{gpus} 块 GPU 共 {hours} GPU 小时",
        "GPU 被占用却没有工作。最空闲的是 GPU {worst},{most} %。",
        "用 `doctor report` 查看时间花在哪个阶段,并去掉没有进程使用的 GPU。",
    ),
)

IDLE, LEAST_SHARE, LEAST_S = 5.0, 0.5, 600.0


@rule(PROBLEM, needs=("usage/bin_s", "gpu/*/activity_pct"))
class GpusMostlyIdle:
    """Counts idle bins a GPU."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._bins: dict[str, int] = {}
        self._idle: dict[str, int] = {}
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Take one bin of one GPU in."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name.endswith("/activity_pct") and "MIG" not in point.name:
            gpu = gpu_of(point.name)
            self._bins[gpu] = self._bins.get(gpu, 0) + 1
            self._idle[gpu] = self._idle.get(gpu, 0) + (point.value < IDLE)
            self._last = point
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the whole run."""
        total, idle = sum(self._bins.values()), sum(self._idle.values())
        if self._last is None or idle <= LEAST_SHARE * total or max(self._bins.values()) * self._bin_s < LEAST_S:
            return None
        worst = max(self._bins, key=lambda gpu: self._idle[gpu] / self._bins[gpu])
        where = self._last._replace(name="usage")
        return found(
            PROBLEM, MESSAGE, share=f"{100 * idle / total:.0f}", hours=f"{idle * self._bin_s / 3600:.1f}",
            gpus=len(self._bins), worst=worst, most=f"{100 * self._idle[worst] / self._bins[worst]:.0f}",
            **place(where, f"{idle} of {total} bins below {IDLE:.0f} %"),
        )  # fmt: skip
