"""Steps take more and more time.

## What it means
The time of a step is made of generation, scoring and the update. It grows with completion length; when it grows more
than
the completions do, something else slows down: memory that fragments or swaps, a GPU that is throttled, a data loader
or
reward service that piles up, preemptions in vLLM.
## What it does to a run
The run ends hours or days late.
## What to do
Compare the parts of a step (`doctor monitor`, veRL's `timing_s/...`) from before and now; look at GPU clocks, host
memory
and the reward function.
## How it is found
The median of `step_time` over the last 25 logged steps is more than twice that of the first 25 (after 5 of warm-up).
## References
https://huggingface.co/docs/trl/speeding_up_training
https://docs.vllm.ai/en/latest/configuration/optimization/
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Column, Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import INFO, WARNING, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm, Baseline, Window

PROBLEM = Problem(id="PRF007", name="step-time-growing", severity=WARNING, since="0.1", ends_run=False)

SLOWER = Message(
    en=Words(
        "a step takes {now} s by step {step}, {times} times as long as at the beginning",
        "Completions have not grown in the same measure, so something else slows down: swapping, a throttled "
        "GPU, a reward service or data loader that piles up, preemptions in vLLM.",
        "Compare the parts of a step from before and now, and look at GPU clocks, host memory and the reward function.",
    ),
    zh=Words(
        "到第 {step} 步每步耗时 {now} 秒,是开始时的 {times} 倍",
        "生成长度没有同等增长,说明别处变慢了:内存交换、GPU 降频、奖励服务或数据加载堆积、vLLM 抢占。",
        "对比前后每一步的各个部分,并查看 GPU 频率、主机内存和奖励函数。",
    ),
)
LONGER = Message(
    en=Words(
        "a step takes {now} s by step {step}, {times} times as long, as completions grew",
        "Completions have grown in the same measure, so the time goes into generating and scoring them.",
        "Nothing is broken. A limit on `max_completion_length` or a penalty for length shortens the steps.",
    ),
    zh=Words(
        "到第 {step} 步每步耗时 {now} 秒,为原来的 {times} 倍,与生成长度同步增长",
        "生成长度以同等幅度增长,时间花在了生成和评分上。",
        "没有故障。限制 `max_completion_length` 或对长度加惩罚可缩短每步时间。",
    ),
)

#: logged steps of the medians, those left to the warm-up (compilation, caches), and the factor
STEPS, SKIP, TIMES = 25, 5, 2.0

#: share of the growth that completions must have shared in to be the reason
OF_GROWTH = 0.7


@rule(PROBLEM, needs=("completions/mean_length", "step_time"))
class StepTimeGrowing:
    """Compares the median of the last steps with that of the first, and the completions' length beside it."""

    def __init__(self) -> None:
        self._base = {name: Baseline(STEPS, SKIP) for name in ("step_time", "completions/mean_length")}
        self._recent = {name: Window(STEPS) for name in self._base}
        self._alarm = Alarm(STEPS, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in; judge when it is a time."""
        name = point.name
        if not math.isfinite(point.value) or not self._base[name].push(point.value):
            return None
        self._recent[name].push(point.value)
        if name != "step_time" or not self._recent[name].full:
            return None
        times = self._times(name)
        if not self._alarm.see(times > TIMES, point.step):
            return None
        longer = self._times("completions/mean_length") >= OF_GROWTH * times
        return found(
            PROBLEM, LONGER if longer else SLOWER, confidence=LIKELY, severity=INFO if longer else WARNING,
            now=f"{self._recent[name].median:.3g}", times=f"{times:.1f}", step=step_text(point.step),
            **sighting(point, self._alarm.since),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose times are all short enough."""
        told = {name: stretch[name] for name in self._base if stretch[name].values}
        if not all(each.finite and self._recent[name].full for name, each in told.items()):
            return False
        times = told.get("step_time")
        first = self._base["step_time"].median or 0.0
        if times is not None and (first < 0 or self._may_grow(times, TIMES * first)):
            return False
        for name, each in told.items():
            self._recent[name].extend(each.values)
        self._alarm.rest(len(times) if times is not None else 0)
        return True

    def _may_grow(self, times: Column, most: float) -> bool:
        """Whether some median may be longer than this."""
        recent = self._recent["step_time"]
        return max(times.high, recent.high) > most > 0 and recent.most_above(most, times.values) > STEPS // 2

    def _times(self, name: str) -> float:
        first = self._base[name].median
        return self._recent[name].median / first if first and len(self._recent[name]) else 0.0
