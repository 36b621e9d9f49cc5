"""Judges answers-identical (RLX019), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.shares import BadShare
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: share of the groups, and steps running
SHARE, RUNNING = 0.9, 5

#: steps that a whole run must have to be judged at its end
WHOLE_RUN = 3


@rule(PROBLEM, needs=("completions/identical_ratio",), symptom_of=("RLX005", "RLX012"))
class AnswersIdentical:
    """Watches the share of groups without two different answers."""

    def __init__(self) -> None:
        self._share = BadShare(SHARE, RUNNING, WHOLE_RUN)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one share."""
        return self._found(point) if self._share.sees(point) else None

    def _found(self, point: Point) -> Finding:
        began = self._share.since
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, share=f"{100 * point.value:.0f} %", step=step_text(began),
            **sighting(point, began),
        )  # fmt: skip

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        last = self._share.at_end()
        return self._found(last) if last is not None else None
