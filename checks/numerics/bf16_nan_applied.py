"""Judges bf16-nan-applied (NUM004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.precision import precision
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.words import words_of
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def bf16_nan_applied(
    training: Training, world: World, packages: Packages, deepspeed: DeepspeedConfig | None
) -> Judgement:
    """Judge by the facts of the installed release."""
    version, stage = installed(packages, "deepspeed"), world.zero_stage
    if stage not in {1, 2}:
        return
    release = data.deepspeed_release(version)
    chosen = precision(training, world, deepspeed, installed(packages, "trl"))
    if release is None or chosen is None:
        yield Skip("the precision of the run or the installed DeepSpeed is not known")
        return
    switch = deepspeed.settings.get("bf16.check_grad_overflow") if deepspeed else None
    by_hand = switch is not None and bool(truth(switch.value))
    if chosen[0] == "bf16" and not release.bf16_overflow_checked_zero12 and not by_hand:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(chosen[1]),
            evidence=(Observed.quoted("installed packages", f"deepspeed {version}"), *quoted(chosen[1])),
            commands=('"check_grad_overflow": true', 'pip install "deepspeed>=0.19.8"'),
            version=version,
            stage=stage,
        )
