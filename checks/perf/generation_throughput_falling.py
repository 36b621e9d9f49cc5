"""Judges generation-throughput-falling (PRF014), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.base.stats import Alarm, Baseline, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
STARVED, PAUSED = TOML["starved"], TOML["paused"]


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
            full=full, **sighting(rate, self._alarm.since),
    )  # fmt: skip


def _reads(prompt: float, generated: float, running: float) -> bool:
    """Whether requests at work had their prompts read, mostly; a long one is told when all of it was read."""
    return running > 0 and (prompt > generated or generated == 0)


WAITING = "vllm/waiting"

#: lines running, one every ten seconds: a minute, in which weights are long updated and prompts long read
#: https://github.com/vllm-project/vllm/blob/main/vllm/envs.py (VLLM_LOG_STATS_INTERVAL)
STALLED_LINES = 6


@rule(PROBLEM, needs=(PROMPT, RATE, RUNNING, WAITING))
class NothingRuns:
    """Requests that wait while none runs, and requests that run while no token comes."""

    def __init__(self) -> None:
        self._now: dict[str, float] = {}
        self._starved, self._paused = Alarm(STALLED_LINES, calm=1), Alarm(STALLED_LINES, calm=1)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge a line at the requests that wait, which it tells last of the four."""
        if point.name == PROMPT:
            self._now = {}
        self._now[point.name] = point.value
        if point.name != WAITING:
            return None
        told, self._now = self._now, {}
        if len(told) < 4:
            return None
        still = told[RATE] == 0 == told[PROMPT]
        starved = self._starved.see(still and told[WAITING] > 0 and told[RUNNING] == 0, point.step)
        paused = self._paused.see(still and told[RUNNING] > 0, point.step)
        if not (starved or paused):
            return None
        return found(
            PROBLEM, STARVED if starved else PAUSED, confidence=LIKELY, count=STALLED_LINES,
            waiting=f"{told[WAITING]:.0f}", running=f"{told[RUNNING]:.0f}", **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take lines in that all tell tokens."""
        rates = stretch[RATE]
        if not stretch[WAITING].values:
            return True
        if not (stretch.alike and rates.finite and rates.values) or self._now or rates.low <= 0:
            return False
        self._starved.rest(len(rates))
        self._paused.rest(len(rates))
        return True
