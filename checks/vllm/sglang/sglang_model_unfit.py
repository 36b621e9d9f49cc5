"""Judges sglang-model-unfit (VLL075), whose words stand in the TOML beside it."""

from __future__ import annotations

from math import gcd

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
WORKER = TOML["worker"]
WIDTHS = TOML["widths"]


#: widths of models are multiples of this, lengths of sequences seldom
_WIDTH = 64


def explain(hits: Hits) -> Finding | None:
    """A class of vLLM's, a method or a width that the draft needs, a worker that takes no weights."""
    if worker := hits.get("worker"):
        return found(
            PROBLEM, WORKER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, worker=worker,
            call=hits.get("call") or "",
        )  # fmt: skip
    if one := hits.get("one") or hits.get("wide"):
        two = hits.get("two") or hits.get("high") or "1"
        if gcd(int(one), int(two)) < _WIDTH:
            return None
        return found(PROBLEM, WIDTHS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, one=one, two=two)
    of_vllm = bool(hits.of(0))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        model=hits.get("model") or "", name=hits.get("name") or "",
        reason=TOML.phrase("reason.of_vllm" if of_vllm else "reason.of_draft"),
        draft="" if of_vllm else TOML.phrase("path"),
    )  # fmt: skip
