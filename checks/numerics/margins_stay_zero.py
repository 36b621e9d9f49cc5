"""Judges margins-stay-zero (NUM018), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: logged steps: a long warm-up in bf16 may lose the first updates
FIRST, WHOLE_RUN = 50, 10


@rule(PROBLEM, needs=("rewards/margins",), symptom_of=("NUM005", "NUM006", "NUM016", "RLX017", "DSP017"))
class MarginsStayZero:
    """Looks at the beginning only."""

    def __init__(self) -> None:
        self._count = 0
        self._settled = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count zeros until the first value that is none."""
        if self._settled:
            return None
        if point.value != 0:
            self._settled = True
            return None
        self._count += 1
        self._last = point
        return self._found(point) if self._count == FIRST else None

    def calm(self, _stretch: Stretch) -> bool:
        """Take every row in once the beginning is over."""
        return self._settled

    def _found(self, point: Point) -> Finding:
        self._settled = True
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, count=self._count, step=step_text(point.step), **sighting(point)
        )

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._settled or self._last is None or self._count < WHOLE_RUN:
            return None
        return self._found(self._last)
