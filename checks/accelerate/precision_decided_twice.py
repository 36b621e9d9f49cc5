"""Judges accelerate-precision-decided-twice (ACC009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import effective, options_are_plain, proofs, written
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def precision_decided_twice(
    launch: Launch, accelerate: AccelerateConfig | None, training: Training, packages: Packages | None
) -> Judgement:
    """fp16 against bf16 only: `no` in the file beside a precision of the Trainer is the usual way."""
    if not options_are_plain(launch):
        return
    setting = launch.option("mixed_precision")
    if setting is None and accelerate is not None:
        setting = accelerate.settings.get("mixed_precision")
    if setting is None or setting.value not in {"fp16", "bf16"}:
        return
    other = "bf16" if setting.value == "fp16" else "fp16"
    same, wanted = effective(training, packages, str(setting.value)), effective(training, packages, other)
    if wanted is None or not truth(wanted.value) or (same is not None and truth(same.value)):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        launcher=setting.value,
        trainer=other,
        place=written(wanted),
        where=place_of(setting, wanted),
        commands=(f"mixed_precision: {other}",),
        evidence=proofs(setting, wanted),
    )
