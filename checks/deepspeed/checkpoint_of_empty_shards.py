"""Judges deepspeed-checkpoint-of-empty-shards (DSP022), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_HERE = TOML["log_here"]
SAVED = TOML["saved"]
_ZERO = later(r"(?i)zero|stage.?3|deepspeed")
_SURE = 3  # weights of one element each


def explain(hits: Hits) -> Finding | None:
    """Say which side is empty."""
    if not hits.get("saved") and hits.values("here") == ["1"] and not _is_placeholder(hits):
        return None  # a parameter may be of one element
    message = LOG_MESSAGE if hits.get("saved") else LOG_MESSAGE_HERE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, weight=hits.get("weight")
    )  # fmt: skip


def of_rehearsal(told: Mapping[str, Any]) -> Finding:
    """Say what a program saved in a rehearsal.

    Args:
        told: `empty` weights of the `of` in a file, the `first` of them, and the file's `path`, if it has one.

    """
    seen = f"{told['empty']} of {told['of']} tensors have no element, {told['first']} first"
    return found(
        PROBLEM, SAVED, empty=told["empty"], total=told["of"], file=told["path"].rpartition("/")[2] or None,
        evidence=(Observed.quoted(told["path"] or "rehearsal", seen),),
    )  # fmt: skip


def _is_placeholder(hits: Hits) -> bool:
    """Whether several weights are of one element here: ZeRO-3 up to DeepSpeed 0.3 left that of each partitioned one.

    https://github.com/Lightning-AI/pytorch-lightning/issues/7282
    """
    return len(hits.values("weight")) > 1 and bool(_ZERO.search(hits.context) or len(hits.values("weight")) > _SURE)
