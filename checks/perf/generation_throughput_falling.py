"""vLLM generates fewer tokens a second than at the beginning, with as many requests at work.

## What it means
Tokens a second for each running request depend on model, batch and context length. When they halve at the same number
of requests, contexts have grown long, the KV cache is full and requests are preempted, the GPU is throttled or shared,
or the host is short of CPU.
## What it does to a run
Generation, mostly the longest part of a GRPO step, takes longer and longer.
## What to do
Look at the KV cache and at preemptions in the same lines, at the lengths of the completions, and at clocks and
temperatures of the GPUs.
## How it is found
In vLLM's throughput lines: the median of tokens a second per running request over the last 25 busy lines is less than
half of that over the first 25 (after 3 of warm-up), while the number of requests at work has not grown by half. Lines
in which more prompt was read than text generated, and those that follow one, tell of prompts and do not count.
## References
https://docs.vllm.ai/en/latest/configuration/optimization/
https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/metrics/loggers.py
"""

from __future__ import annotations

from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.rules import sighting
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm, Baseline, Window

PROBLEM = Problem(id="PRF014", name="generation-throughput-falling", severity=WARNING, since="0.1", ends_run=False)

MESSAGE = Message(
    en=Words(
        "vLLM generates {now} tokens/s per request, {before} at the beginning",
        "The number of requests at work has not grown in that measure. Longer contexts, a full KV cache with "
        "preemptions, a GPU that is throttled or shared, and a host short of CPU do this.{cache}",
        "Compare completion lengths of then and now. Look for preemptions and for a KV cache near 100 % (fewer "
        "`max_num_seqs`, a higher `gpu_memory_utilization`), and at clocks and other processes with `doctor monitor`.",
    ),
    zh=Words(
        "vLLM 每个请求每秒生成 {now} 个 token,开始时为 {before}",
        "同时运行的请求数并未同等增长。上下文变长、KV cache 占满并发生抢占、GPU 降频或被共享、主机 CPU 不足都会如此。"
        "{cache_zh}",
        "对比前后的生成长度。检查是否有抢占、KV cache 是否接近 100 %(减小 `max_num_seqs`,提高 "
        "`gpu_memory_utilization`),并用 `doctor monitor` 查看频率与其他进程。",
    ),
)

#: busy lines of the medians and those left to the warm-up; fall that counts; growth of the load that explains one
LINES, SKIP, FALL, MORE_REQUESTS = 25, 3, 0.5, 1.5

#: share of the KV cache from which it counts as full
FULL = 0.95


PROMPT, RATE = "vllm/prompt_tokens_per_s", "vllm/generation_tokens_per_s"
RUNNING, CACHE = "vllm/running", "vllm/kv_cache_usage"


@rule(PROBLEM, needs=(PROMPT, RATE, RUNNING, CACHE))
class GenerationThroughputFalling:
    """Compares tokens a second per running request of the last busy lines with those of the first."""

    def __init__(self) -> None:
        self._rate: Optional[Point] = None
        self._prompt = 0.0
        self._reading = False  # the line before was one of prompts
        self._first, self._first_load = Baseline(LINES, SKIP), Baseline(LINES, SKIP)
        self._last, self._load, self._cache = Window(LINES), Window(LINES), Window(LINES)
        self._alarm = Alarm(LINES, calm=LINES)

    def update(self, point: Point) -> Optional[Finding]:
        """A line tells the prompts first, then the rate, the requests and the cache."""
        if point.name == PROMPT:
            self._prompt = point.value
        elif point.name == RATE:
            self._rate = point
        elif point.name == CACHE:
            self._cache.push(point.value)
        elif self._rate is not None:
            rate, self._rate = self._rate, None
            before, self._reading = self._reading, _reads(self._prompt, rate.value, point.value)
            self._prompt = 0.0
            if rate.value > 0 and point.value > 0 and not (before or self._reading):
                return self._see(rate, point.value)
        return None

    def calm(self, stretch: Stretch) -> bool:
        """Take lines in of which none is slow enough to pull the median of the last ones down."""
        rates, running, cache, names = stretch[RATE], stretch[RUNNING], stretch[CACHE], stretch.rows[0].names
        if not (stretch.alike and rates.finite and running.finite and cache.finite and self._last.full):
            return False
        if self._rate is not None or RUNNING not in names or RATE not in names[: names.index(RUNNING)]:
            return False
        prompts = stretch[PROMPT].values if PROMPT in names else (0.0,) * len(rates.values)
        if self._reading or any(map(_reads, prompts, rates.values, running.values)):
            return False
        busy = [pair for pair in zip(rates.values, running.values) if pair[0] > 0 and pair[1] > 0]  # noqa: B905
        shares = [rate / requests for rate, requests in busy]
        if min((self._last.low, *shares)) < FALL * (self._first.median or 0.0):
            return False
        self._last.extend(shares)
        self._load.extend([requests for _, requests in busy])
        self._cache.extend(cache.values)
        self._alarm.rest(len(shares))
        return True

    def _see(self, rate: Point, running: float) -> Optional[Finding]:
        share = rate.value / running
        self._first_load.push(running)
        if not self._first.push(share):
            return None
        self._last.push(share)
        self._load.push(running)
        before, load = self._first.median, self._first_load.median
        if not self._last.full or before is None or load is None:
            return None
        fallen = self._last.median < FALL * before and self._load.median <= MORE_REQUESTS * load
        if not self._alarm.see(fallen, rate.step):
            return None
        full = len(self._cache) > 0 and self._cache.median >= FULL
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, now=f"{self._last.median:.3g}", before=f"{before:.3g}",
            cache=" The KV cache is full." if full else "", cache_zh="KV cache 已满。" if full else "",
            **sighting(rate, self._alarm.since),
        )  # fmt: skip


def _reads(prompt: float, generated: float, running: float) -> bool:
    """Whether requests at work had their prompts read, mostly; a long one is told when all of it was read."""
    return running > 0 and (prompt > generated or generated == 0)
