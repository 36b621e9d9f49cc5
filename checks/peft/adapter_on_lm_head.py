"""Judges adapter-on-lm-head (PFT003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def adapter_on_lm_head(training: Training, packages: Packages) -> Judgement:
    """Judge a list that is written out; before 1.15 only Liger and the head in fp32 were refused with it."""
    setting = (training.lora or {}).get("target_modules")
    if not is_grpo(training) or setting is None or not packages.matches("trl", ">=1.15"):
        return
    if not setting.known:
        yield Skip("`target_modules` could not be read without running the script")
        return
    names = [setting.value] if isinstance(setting.value, str) else list(setting.value or ())
    if "lm_head" in names:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            version=installed(packages, "trl"),
        )
