"""Judges ray-actor-without-gpu (RAY011), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: processes that vLLM starts itself and labels alike
_OF_VLLM = later(r"(?i)(?:EngineCore|APIServer|Worker_|VllmWorker|Worker rank)")


def explain(hits: Hits) -> Finding | None:
    """Only where the log shows Ray: else torch's own words are the answer."""
    ray = (
        "ray" in hits.versions
        or any("/ray/" in frame for hit in hits for frame in hit.frames)
        or any("pid=" in hit.process and not _OF_VLLM.match(hit.process) for hit in hits)
    )
    if not ray:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )
