"""Judges routing-not-replayed (RLX6777), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Alarm, Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SHARE = TOML["share"]

#: NeMo-RL's guide: "zero or near-zero" (https://docs.nvidia.com/nemo/rl/0.8.0/guides/router-replay.html)
MOST, STEPS = 0.01, 5
NOT_REPLAYED = "routing/not_replayed"


@rule(PROBLEM, needs=(NOT_REPLAYED,))
class RoutesOfItsOwn:
    """Watches the share of the tokens for which the engine gave no experts."""

    def __init__(self) -> None:
        self._shares = Window(STEPS)
        self._alarm = Alarm(1, calm=STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one share."""
        if not math.isfinite(point.value):
            return None
        self._shares.push(point.value)
        if not self._alarm.see(self._shares.full and self._shares.median > MOST, point.step):
            return None
        return found(PROBLEM, SHARE, share=f"{self._shares.median:.0%}", step=step_text(point.step), **sighting(point))

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no such share."""
        return not stretch[NOT_REPLAYED].values
