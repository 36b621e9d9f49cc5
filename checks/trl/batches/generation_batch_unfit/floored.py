"""Judges TRL3814/floored, a row of generation-batch-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.generation_batch import factor_for, train_batch
from doctor.catalogue.shared.trainers import certainty, installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def generation_batch_floored(training: Training, world: World, packages: Packages) -> Judgement:
    """Judge an explicit size only; the computed one always fits."""
    setting = training.get("generation_batch_size")
    if not is_grpo(training) or setting is None or (setting.known and setting.value is None):
        return
    version = installed(packages, "trl")
    batch = train_batch(training, world, version)
    if isinstance(batch, str):
        yield Skip(batch)
        return
    step = batch.processes * batch.per_device
    if batch.given is None or step < 1 or batch.given % step == 0 or batch.given % batch.per_device:
        return
    size = factor_for(max(1, round(batch.given / step)), step, batch.generations or 1)
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=certainty(training),
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f"generation_batch_size={(size or 1) * step}",),
        given=batch.given,
        step=step,
        steps=batch.given // step,
        version=version,
    )
