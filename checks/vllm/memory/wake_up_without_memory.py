"""Judges wake-up-without-memory (VLL054), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
START = TOML["start"]


#: functions that build an engine
_BUILDS = (":load_model", ":determine_available_memory", ":initialize_cache", ":initialize_kv_cache")


def explain(hits: Hits) -> Finding | None:
    """The traceback tells a wake-up from a start; the allocator's line alone does not."""
    main = hits.of(0)
    if not main:
        return None
    frames = [frame for hit in main for frame in hit.frames]
    woke = any(frame.endswith((":wake_up", ":create_and_map")) for frame in frames)
    built = not woke and any(frame.endswith(_BUILDS) for frame in frames)
    return found(
        PROBLEM, START if built else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if any(frame.endswith(":wake_up") for frame in frames) else LIKELY,
    )  # fmt: skip
