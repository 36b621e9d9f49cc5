"""Judges plain-tensors-instead-of-shards (FSD022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


_ONE = "FSDP runs on one GPU here and does not shard (`NO_SHARD`). "
_ONE_ZH = "此处 FSDP 只用一张 GPU,没有分片(`NO_SHARD`)。"
_MOSTLY = "Mostly the run has one GPU for the trainer, where FSDP does not shard. "
_MOSTLY_ZH = "多半是训练端只有一张 GPU,FSDP 没有分片。"


def explain(hits: Hits) -> Finding | None:
    """FSDP's own warning says for sure that nothing was sharded."""
    named = hits.of(0)
    if not named:
        return None
    one = bool(hits.of(1))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        name=named[0].groups["name"], why=_ONE if one else _MOSTLY, why_zh=_ONE_ZH if one else _MOSTLY_ZH,
    )  # fmt: skip
