"""Judges completions-of-one-length (RLX7826), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]

_SHORTEST, _LONGEST, _CUT = "completions/min_length", "completions/max_length", "completions/clipped_ratio"

#: answers of a fixed form (a letter, a number, a label) may all be as long; text sampled with a temperature is not
TEXT = 16

#: steps, and different lengths among them: what is cut at a limit, or padded to one, has the same in every step
STEPS, LENGTHS = 3, 3


@rule(PROBLEM, needs=(_SHORTEST, _LONGEST, _CUT))
class CompletionsOfOneLength:
    """Shortest and longest completion of each batch are equally long, and that length changes with the batch."""

    def __init__(self) -> None:
        self.over = False
        self._shortest: Optional[Point] = None
        self._lengths: list[float] = []
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count steps until the first that is otherwise."""
        if self.over:
            return None
        name, value = point.name, point.value
        if name == _SHORTEST:
            self._shortest = point
        elif name == _CUT:
            self.over = value > 0 or not math.isfinite(value)
        else:
            shortest, self._shortest = self._shortest, None
            if shortest is None or shortest.step != point.step or shortest.value != value or value < TEXT:
                self.over = True
                return None
            self._lengths.append(value)
            self._last = point
        return None

    def finish(self) -> Optional[Finding]:
        """Judge the run as a whole."""
        if self.over or self._last is None or len(self._lengths) < STEPS or len(set(self._lengths)) < LENGTHS:
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, count=len(self._lengths), length=f"{self._lengths[-1]:.0f}",
            step=step_text(self._last.step), **sighting(self._last),
        )  # fmt: skip
