"""Judges rollout-weights-stale (RLX021), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Optional

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.rules import sighting
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
OVERWRITTEN = TOML["overwritten"]
NOT_PUSHED = TOML["not_pushed"]
DISCARDED, CACHED, FIRST_ALONE = TOML["discarded"], TOML["cached"], TOML["first_alone"]


def overwritten(step: int, names: tuple[str, ...], compared: int) -> Finding:
    """Weights that the engine holds with other values than were pushed: `names` of `compared`."""
    evidence = Observed.quoted("guard", f"differ from what was pushed: {', '.join(names[:8])}")
    where = Where(step=step, module=names[0].rpartition(".")[0])
    return found(PROBLEM, OVERWRITTEN, where=where, evidence=(evidence,), step=step, bad=len(names), all=compared)


def not_pushed(step: int, pushed: int, unmoved: tuple[str, ...] = ()) -> Finding:
    """A generation at `step` with the weights of `pushed`, the last push, or the start where there was none.

    Args:
        step: of the generation.
        pushed: of the weights.
        unmoved: weights that have moved in the trainer and not in the engine, where nothing was ever pushed.

    """
    text = f"last load_weights at step {pushed}, generate at step {step}"
    if unmoved:
        text = f"no load_weights until step {step}; moved in the trainer, not in vLLM: {', '.join(unmoved[:8])}"
    where = Where(step=step)
    return found(PROBLEM, NOT_PUSHED, where=where, evidence=(Observed.quoted("guard", text),), step=step, pushed=pushed)


#: Nothing is clipped while the policy is the one that sampled: the ratio is 1 in every token (PPO, eq. 7 of
#: https://arxiv.org/abs/1707.06347). A first step without any shows that the ratio is taken before the update, so that
#: with samples of the current weights no later step has any either. In so many logged steps behind the first none may
#: have less than this; a batch that is used several times comes back to 0 whenever it is fresh
CLIPPED, BEHIND = 0.2, 8


@rule(PROBLEM, needs=("clip_ratio/region_mean", "learning_rate", "sampling/staleness/mean"))
class FirstSamplesAlone:
    """Samples of the first step are the policy's own, and those of all later ones are not."""

    def __init__(self) -> None:
        self._settled = False
        self._count, self._least = 0, math.inf
        self._rate = 1.0

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the beginning only; an age that is told is meant, and a first rate of 0 moves no policy."""
        if self._settled:
            return None
        if point.name == "learning_rate":
            self._rate = point.value if not self._count else self._rate
            self._settled = self._rate == 0
            return None
        if point.name != "clip_ratio/region_mean":
            self._settled = True
            return None
        self._count += 1
        if self._count == 1:
            self._settled = point.value != 0 or point.step is None or point.step > 1
            return None
        self._least = min(self._least, point.value)
        self._settled = not CLIPPED <= self._least <= 1
        if self._settled or self._count <= BEHIND:
            return None
        self._settled = True
        return found(
            PROBLEM, FIRST_ALONE, confidence=LIKELY, share=f"{100 * self._least:.0f} %", count=BEHIND, **sighting(point)
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take every row in once the beginning is over, and rates before it."""
        rates = stretch["learning_rate"].values
        others = stretch["clip_ratio/region_mean"].values or stretch["sampling/staleness/mean"].values
        if self._settled or others or self._count or not rates:
            return self._settled
        self._rate, self._settled = rates[-1], 0 in rates
        return True


#: requests of an engine, as its server logs them: vLLM's, SGLang's and LMDeploy's routes
_REQUEST = later(r"\b(?:POST|GET) /(?P<route>[\w/?=&.-]{3,80})")
_CACHED = later(r"[\"']cached_tokens[\"']: ?(?P<count>\d+)")
_ASKS, _LOADS = (
    later(r"completions|generate|/chat"),
    later(r"update_weight|weight_update|reload|load_weights|load_lora"),
)
_SECOND = later(r"^sleep\?(?:.*&)?level=2\b")
_EMPTIES = later(r"flush_cache|reset_prefix_cache|clear_cache|sleep")


def of_quoted(courses: Courses) -> Optional[Finding]:
    """What the order of an engine's requests shows, as an excerpt quotes them."""
    return next(_out_of_order(courses.words), None) if courses.excerpt else None


def _out_of_order(words: str) -> Iterator[Finding]:
    """Answers from weights that sleep threw away and nobody sent again, and from a cache of the weights before."""
    discarded, since_update = False, -1  # questions since weights came and no cache was emptied; -1: none came
    for line in words.splitlines():
        request, cached = _REQUEST.search(line), _CACHED.search(line)
        route = request["route"] if request is not None else ""
        if _SECOND.search(route):
            discarded = True
        elif _LOADS.search(route):
            discarded, since_update = False, 0
        elif _EMPTIES.search(route):
            since_update = -1
        elif _ASKS.search(route):
            since_update += since_update >= 0
            if discarded:
                yield found(PROBLEM, DISCARDED, confidence=LIKELY)
        if cached is not None and int(cached["count"]) and since_update == 1:
            yield found(PROBLEM, CACHED, confidence=LIKELY, count=int(cached["count"]))
