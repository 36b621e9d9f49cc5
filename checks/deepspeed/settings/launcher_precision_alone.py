"""Judges deepspeed-launcher-precision-alone (DSP016), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import effective, options_are_plain, proofs
from doctor.catalogue.words import words_of
from doctor.checks.deepspeed._helpers import compares_arguments, setting_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM, requires=("DSP004",))
def launcher_precision_alone(
    launch: Launch,
    world: World,
    training: Training,
    packages: Packages,
    accelerate: AccelerateConfig | None,
    deepspeed: DeepspeedConfig | None,
) -> Judgement:
    """A JSON given as `deepspeed=` is compared before accelerate fills it in."""
    if not options_are_plain(launch) or world.backend != "deepspeed" or training.get("deepspeed"):
        return
    setting = launch.option("mixed_precision")
    if setting is None and accelerate is not None:
        setting = accelerate.settings.get("mixed_precision")
    if setting is None or setting.value not in {"fp16", "bf16"} or not compares_arguments(training, packages):
        return
    written = setting_of(deepspeed, f"{setting.value}.enabled")
    if written is not None and written.value != "auto":
        return
    if any(training.get(f"{name}_full_eval") for name in ("fp16", "bf16")):
        return
    arguments = [effective(training, packages, name) for name in ("fp16", "bf16")]
    if any(each is None or truth(each.value) for each in arguments):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        precision=setting.value,
        where=place_of(setting),
        commands=(f"--{setting.value}",),
        evidence=proofs(setting),
    )
