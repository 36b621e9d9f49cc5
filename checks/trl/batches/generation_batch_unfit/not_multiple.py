"""Judges TRL3814/not_multiple, a row of generation-batch-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.generation_batch import train_batch
from doctor.catalogue.shared.trainers import certainty, installed, is_grpo, quoted, unsloth_replaces
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


@check(PROBLEM)
def generation_batch_not_multiple(
    training: Training, world: World, packages: Packages, script: Script | None
) -> Judgement:
    """Solve the rule where the size is said and `steps_per_generation`, which excludes it, is not."""
    setting = training.get("generation_batch_size")
    if not is_grpo(training) or setting is None or training.get("steps_per_generation") is not None:
        return
    if unsloth_replaces(script):
        yield Skip("Unsloth replaces GRPOConfig and changes batch sizes that do not fit")
        return
    batch = train_batch(training, world, installed(packages, "trl"))
    if isinstance(batch, str):
        yield Skip(batch)
        return
    step = batch.processes * batch.per_device
    if batch.given is None or step < 1 or batch.given % step == 0:
        return
    below = max(step, batch.given // step * step)
    sum_of_step = f"{batch.processes} processes x {batch.per_device} per device = {step} completions"
    yield found(
        PROBLEM,
        LOG_MESSAGE,
        confidence=certainty(training),
        where=place_of(setting),
        evidence=(*quoted(setting), Observed.quoted("batch rule", sum_of_step)),
        commands=tuple(f"generation_batch_size={each}" for each in (below, batch.given // step * step + step)),
        size=batch.given,
        step=step,
        below=below,
        above=batch.given // step * step + step,
    )


def explain(hits: Hits) -> Finding | None:
    """Name the nearest multiples."""
    size, step = int(hits.get("size") or 0), int(hits.get("step") or 0)
    if step < 1 or size % step == 0:
        return None
    below = max(step, size // step * step)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        size=size,
        step=step,
        below=below,
        above=below + step,
    )
