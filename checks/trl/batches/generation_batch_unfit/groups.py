"""Judges TRL3814/groups, a row of generation-batch-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from math import prod

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.generation_batch import divisors, layout, mended, nearest, train_batch
from doctor.catalogue.shared.trainers import certainty, config_place, installed, is_grpo, unsloth_replaces
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.trl._swift import is_swift_grpo, swift_batch
from doctor.facts.dataset import Dataset
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_GLOBAL = TOML["log_global"]
LOG_MESSAGE_ONE = TOML["log_one"]
MESSAGE = TOML["main"]
SWIFT = TOML["swift"]


@check(PROBLEM)
def batch_not_divisible(
    training: Training, world: World, packages: Packages, dataset: Dataset | None, script: Script | None
) -> Judgement:
    """Solve the rule of the installed release."""
    if not is_grpo(training):
        return
    if unsloth_replaces(script):
        yield Skip("Unsloth replaces GRPOConfig and changes batch sizes that do not fit")
        return
    version = installed(packages, "trl")
    batch = train_batch(training, world, version)
    if isinstance(batch, str):
        yield Skip(batch)
        return
    if batch.rule == "A" or batch.generations < 2 or batch.completions < 1:
        return  # no such rule, or another problem's business
    if batch.completions % batch.generations == 0:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=certainty(training),
        where=place_of(training.get("num_generations"), otherwise=config_place(training)),
        commands=mended(batch),
        evidence=(Observed.quoted("batch rule", batch.sum), *layout(batch, dataset)),
        generations=batch.generations,
        completions=batch.completions,
        version=version,
    )


@check(PROBLEM)
def swift_batch_not_divisible(
    training: Training, world: World, packages: Packages, dataset: Dataset | None
) -> Judgement:
    """Solve the rule of ms-swift, which has defaults of its own."""
    if not is_swift_grpo(training):
        return
    batch = swift_batch(training, world, packages)
    if isinstance(batch, str):
        yield Skip(batch)
        return
    if batch.generations < 2 or batch.completions < 1 or batch.completions % batch.generations == 0:
        return
    yield found(
        PROBLEM,
        SWIFT,
        where=place_of(training.get("num_generations")),
        commands=tuple(f"--{line.replace('=', ' ')}" for line in mended(batch)),
        evidence=(Observed.quoted("batch rule", batch.sum), *layout(batch, dataset)),
        generations=batch.generations,
        completions=batch.completions,
        version=installed(packages, "ms-swift"),
    )


def explain(hits: Hits) -> Finding | None:
    """Solve the rule again with the numbers that TRL printed."""
    generations = int(hits.get("generations") or 0)
    factors = [int(each) for each in (hits.get("processes"), hits.get("per_device"), hits.get("steps")) if each]
    total = int(hits.get("total") or 0) or prod(factors)
    if generations < 1 or total < 1 or total % generations == 0:
        return None
    fitting = nearest(generations, divisors(total), 4)
    next_batch = (total // generations + 1) * generations
    listed = ", ".join(map(str, fitting))
    message = LOG_MESSAGE_GLOBAL if hits.first.signature == 0 else LOG_MESSAGE if fitting else LOG_MESSAGE_ONE
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=tuple(f"num_generations={each}" for each in fitting),
        generations=generations,
        sum=" x ".join(map(str, factors)) + f" = {total}" if factors else str(total),
        fitting=listed,
        next=next_batch,
    )
