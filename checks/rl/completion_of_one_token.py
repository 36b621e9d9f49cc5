"""Judges completion-of-one-token (RLX7624), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def completion_of_one_token(training: Training) -> Judgement:
    """One token can be meant for a choice among letters, so it is likely and no more."""
    setting = training.get("max_completion_length")
    length = whole(setting.value) if setting is not None and setting.known else None
    if is_grpo(training) and setting is not None and length == 1:
        yield found(PROBLEM, MESSAGE, where=place_of(setting), confidence=LIKELY, evidence=quoted(setting))
