"""Judges answers-looping (RLX018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.series import rule
from doctor.catalogue.shares import BadShare
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: share of the answers, steps running, and steps that a whole run must have to be judged at its end; a base model
#: loops now and then at first
SHARE, RUNNING, WHOLE_RUN = 0.3, 5, 2


@rule(PROBLEM, needs=("completions/looping_ratio",), symptom_of=("RLX005",))
class AnswersLooping(BadShare):
    """Watches the share of answers that end in a loop."""

    def __init__(self) -> None:
        super().__init__(TOML, SHARE, RUNNING, WHOLE_RUN)
