"""Judges clip-ratio-saturated (RLX013), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.stats import Level
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
DRIFT = TOML["drift"]


#: share of the tokens without a gradient, as the median of that many logged steps; healthy runs clip 0 to 10 %
SHARE, STEPS = 0.3, 10

#: how far one update may carry the policy, in nats a token, as the median of that many logged steps. Spinning Up's PPO
#: stops its epoch at 0.015 (1.5 times target_kl = 0.01); three times that is no longer an estimate's noise
#: https://spinningup.openai.com/en/latest/algorithms/ppo.html (target_kl)
DRIFTED, DRIFT_STEPS = 0.05, 20


@rule(PROBLEM, needs=("clip_ratio/region_mean",), symptom_of=("RLX014", "RLX021", "NUM008"))
class ClipRatioSaturated:
    """Watches the median of the share."""

    def __init__(self) -> None:
        self._level = Level(SHARE, STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one share."""
        median = self._level.passed(point.value, point.step) if math.isfinite(point.value) else None
        if median is None:
            return None
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, share=f"{100 * median:.0f} %", step=step_text(point.step),
            **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose shares are all small."""
        shares = stretch["clip_ratio/region_mean"]
        return shares.finite and self._level.rest(shares.values, shares.high)


@rule(PROBLEM, needs=("policy_drift",), symptom_of=("RLX014", "RLX021", "NUM008"))
class PolicyDrift:
    """Watches how far the policy is from the one that sampled, over the updates of a batch."""

    def __init__(self) -> None:
        self._level = Level(DRIFTED, DRIFT_STEPS)

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one estimate; it may be negative, for it is the mean of a difference."""
        median = self._level.passed(abs(point.value), point.step) if math.isfinite(point.value) else None
        if median is None:
            return None
        return found(
            PROBLEM, DRIFT, confidence=LIKELY, value=f"{median:.2g}", step=step_text(point.step), **sighting(point)
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose estimates are all small."""
        values = stretch["policy_drift"]
        return values.finite and self._level.rest([abs(each) for each in values.values], max(values.high, -values.low))
