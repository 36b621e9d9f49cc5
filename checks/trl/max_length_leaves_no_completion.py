"""Judges max-length-leaves-no-completion (TRL3133), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, truth, whole
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

#: tokens that a chat template with a short question takes: a row that is cut here keeps nothing of its completion
SHORTEST = 64
_SWITCHES = ("completion_only_loss", "assistant_only_loss")


@check(PROBLEM)
def max_length_leaves_no_completion(training: Training) -> Judgement:
    """Judge explicit values; the defaults are 1024 tokens, and the loss over completions for rows that have some."""
    if training.config_class != "SFTConfig":
        return
    length = training.get("max_length")
    if length is None or not length.known:
        return
    tokens = whole(length.value)
    if tokens is None or not 0 < tokens <= SHORTEST:
        return
    for name in _SWITCHES:
        switch = training.get(name)
        if switch is not None and switch.known and truth(switch.value):
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=LIKELY,
                where=place_of(length),
                commands=("max_length=1024",),
                evidence=quoted(length, switch),
                length=tokens,
                switch=name,
            )
            return
