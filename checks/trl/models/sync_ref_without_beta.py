"""Judges sync-ref-model-without-beta (TRL032), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import number, place_of, truth
from doctor.catalogue.shared.trainers import argument, installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
PEFT = TOML["peft"]


@check(PROBLEM)
def sync_ref_without_beta(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch against `beta` and PEFT."""
    version, setting = installed(packages, "trl"), training.get("sync_ref_model")
    if not is_grpo(training) or setting is None or not truth(setting.value):
        return
    beta = argument(training, "beta", version)
    if beta is None:
        yield Skip("`beta` could not be read without running the script")
        return
    zero = number(beta.value) == 0.0
    if not zero and training.lora is None:
        return
    yield found(
        PROBLEM,
        MESSAGE if zero else PEFT,
        where=place_of(setting),
        evidence=quoted(setting, beta.setting),
        commands=("beta=0.04", "sync_ref_model=False") if zero else ("sync_ref_model=False",),
        version=version,
    )
