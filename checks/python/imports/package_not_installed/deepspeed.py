"""Judges PYT3270/deepspeed, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def not_installed(
    launch: Launch,
    world: World,
    packages: Packages,
    accelerate: AccelerateConfig | None,
    training: Training | None,
) -> Judgement:
    """A partial list proves nothing."""
    if world.backend != "deepspeed" or (there := packages.has("deepspeed")):
        return
    if there is None:
        yield Skip(packages.why_unknown("deepspeed"))
        return
    reason = accelerate.settings.get("distributed_type") if accelerate is not None else None
    if training is not None and training.get("deepspeed") is not None:
        reason = training.get("deepspeed")
    reason = reason or launch.option("use_deepspeed")
    commands = ("pip install deepspeed",)
    yield found(PROBLEM, MESSAGE, where=place_of(reason), commands=commands, evidence=proofs(reason))
