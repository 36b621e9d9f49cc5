"""Judges TRL3814/evaluation, a row of generation-batch-unfit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.generation_batch import divisors, factor_for, nearest, rule_of
from doctor.catalogue.shared.trainers import argument, certainty, installed, is_grpo, quoted, whole_argument
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


def _generations(training: Training, version: str, rule: str) -> int | None:
    if rule >= "H":
        own = argument(training, "num_generations_eval", version)
        if own is None:
            return None
        if own.value:
            return whole(own.value)
    return whole_argument(training, "num_generations", version)


@check(PROBLEM)
def eval_batch_not_divisible(training: Training, world: World, packages: Packages) -> Judgement:
    """Solve the rule of the installed release where evaluation is on."""
    version = installed(packages, "trl")
    strategy = training.value("eval_strategy")
    rule = rule_of(version)
    if not is_grpo(training) or rule in (None, "A", "F") or strategy in (None, "no", False):
        return
    per_device = whole_argument(training, "per_device_eval_batch_size", version)
    generations = _generations(training, version, rule or "")
    if per_device is None or generations is None or world.processes is None:
        yield Skip("processes, `per_device_eval_batch_size` or the number of generations is not known")
        return
    total = per_device * world.processes
    if generations < 2 or total % generations == 0:
        return
    size = factor_for(per_device, world.processes, generations)
    lines = [f"per_device_eval_batch_size={size}"] if size else []
    if rule is not None and rule >= "H":
        lines += [f"num_generations_eval={each}" for each in nearest(generations, divisors(total))]
    yield found(
        PROBLEM,
        MESSAGE,
        confidence=certainty(training),
        where=place_of(training.get("per_device_eval_batch_size"), training.get("eval_strategy")),
        commands=tuple(lines),
        evidence=quoted(training.get("eval_strategy"), training.get("per_device_eval_batch_size")),
        generations=generations,
        total=total,
        processes=world.processes,
        per_device=per_device,
        version=version,
    )


def explain(hits: Hits) -> Finding | None:
    """Solve the rule again with the numbers that TRL printed."""
    generations = int(hits.get("generations") or 0)
    total = int(hits.get("first") or 0) * int(hits.get("second") or 0)
    if generations < 1 or total < 1 or total % generations == 0:
        return None
    fitting = nearest(generations, divisors(total), 4)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        generations=generations,
        total=total,
        sum=f"{hits.get('first')} x {hits.get('second')} = {total}",
        fitting=", ".join(map(str, fitting)) or "none",
        next=(total // generations + 1) * generations,
    )
