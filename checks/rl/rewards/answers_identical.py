"""Judges answers-identical (RLX019), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.series import rule
from doctor.catalogue.shares import BadShare
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: share of the groups, steps running, and steps that a whole run must have to be judged at its end
SHARE, RUNNING, WHOLE_RUN = 0.9, 5, 3


@rule(PROBLEM, needs=("completions/identical_ratio",), symptom_of=("RLX005", "RLX012"))
class AnswersIdentical(BadShare):
    """Watches the share of groups without two different answers."""

    def __init__(self) -> None:
        super().__init__(TOML, SHARE, RUNNING, WHOLE_RUN)
