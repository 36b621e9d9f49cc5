"""Judges completion-shape-mistaken (DAT028), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
TEXT = TOML["text"]
MESSAGES = TOML["messages"]


_REWARDS = (
    r"(?:grpo_trainer|GRPOTrainer)\.py:"
    r"_?(?:calculate_rewards|generate_and_score_completions|prepare_inputs|score_completions)"
    r"|slime[\\/]rollout[\\/]rm_hub[\\/]__init__\.py:"
)


_INSTALLED = later(r"(?:site|dist)-packages[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Only where the user's own function (or `re`, called by it) raised below the trainer."""
    frames = list(hits.first.frames)
    trainer = max((index for index, frame in enumerate(frames) if re.search(_REWARDS, frame)), default=None)
    if trainer is None or all(_INSTALLED.search(frame) for frame in frames[trainer + 1 :]):
        return None
    text = bool(hits.of(0) or hits.of(1))
    return found(PROBLEM, TEXT if text else MESSAGES, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
