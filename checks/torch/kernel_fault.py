"""Judges cuda-kernel-fault (TOR013), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_ASLEEP, LOG_MESSAGE_WOKEN = TOML["log_asleep"], TOML["log_woken"]

_CACHE = "kv_cache"


def explain(hits: Hits) -> Finding | None:
    """A faulty kernel; or memory that a sleeping vLLM engine had released."""
    fault = hits.first
    before = _before(hits, fault)
    last = max((at for at, each in enumerate(before) if each.groups.get("asleep")), default=None)
    since = before[last:] if last is not None else []
    woken = any(_wakes_cache(each) for each in since)
    asleep = bool(since) and not woken and _generates(fault, since)
    # an engine's own words, for a trainer's kernels on the same GPU have nothing to do with its sleep
    own = woken and any(each.process == fault.process for each in since if each.groups.get("asleep"))
    return found(
        PROBLEM,
        LOG_MESSAGE_ASLEEP if asleep else LOG_MESSAGE_WOKEN if own and fault.process else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        what=fault.groups["what"],
    )


def _before(hits: Hits, fault: Hit) -> list[Hit]:
    """What the engine of a fault said of its sleep before it; nothing where engines cannot be told apart."""
    told = [each for each in hits if "what" not in each.groups and each.file == fault.file and each.line < fault.line]
    own = [each for each in told if each.process == fault.process]
    if own:  # of its server, which is a process of its own, what it was asked
        return [each for each in told if each.process == fault.process or each.text.find('"POST /') >= 0]
    return own or (told if len({each.process for each in told}) == 1 else [])


def _wakes_cache(hit: Hit) -> bool:
    """Whether a line tells that everything woke up (it names no tags), or the cache."""
    woken = hit.groups.get("woken", "")
    return bool(woken) and ("tags" not in woken or _CACHE in woken)


def _generates(fault: Hit, since: Sequence[Hit]) -> bool:
    """Whether it was the engine that failed, at an answer: a trainer on the same GPU works while its engine sleeps."""
    if any("load_weights" in frame for frame in fault.frames):
        return False  # new weights are loaded while the cache still sleeps
    asked = any(each.groups.get("asked") for each in since)
    return asked or any("vllm/" in frame and "execute_model" in frame for frame in fault.frames)
