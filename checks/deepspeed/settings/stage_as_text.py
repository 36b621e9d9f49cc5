"""Judges deepspeed-stage-as-text (DSP010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import setting_of, unread
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def stage_as_text(deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """Below stage 3 nothing is lost but what depends on the comparison."""
    if deepspeed is None:
        yield from unread(training)
        return
    setting = setting_of(deepspeed, "zero_optimization.stage")
    if setting is None or not isinstance(setting.value, str) or whole(setting.value) is None:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        stage=setting.value,
        where=place_of(setting),
        severity=ERROR if whole(setting.value) == 3 else WARNING,
        commands=(f'"stage": {setting.value}',),
        evidence=(proof(setting),),
    )
