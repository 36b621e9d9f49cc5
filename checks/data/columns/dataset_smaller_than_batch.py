"""Judges dataset-smaller-than-batch (DAT012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Skip, Where, found
from doctor.catalogue.shared.generation_batch import train_batch
from doctor.catalogue.shared.trainers import installed, is_grpo, unsloth_replaces
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, LIMITED = TOML["main"], TOML["limited"]

#: how frameworks call the most rows that are taken, and the prompts of one rollout: OpenRLHF (new and old names), veRL
#: https://github.com/OpenRLHF/OpenRLHF/issues/1297, https://verl.readthedocs.io/en/latest/examples/config.html
_LIMITS = ("data.max_samples", "max_samples", "data.train_max_samples", "train_max_samples")
_BATCHES = ("rollout.batch_size", "rollout_batch_size", "data.train_batch_size")


@check(PROBLEM)
def dataset_smaller_than_batch(
    training: Training, world: World, packages: Packages, dataset: Dataset, script: Script | None
) -> Judgement:
    """Compare the rows with the prompts of a generation batch."""
    if not is_grpo(training) or dataset.rows is None or training.dataset_processed or unsloth_replaces(script):
        return
    batch = train_batch(training, world, installed(packages, "trl"))
    if isinstance(batch, str):
        yield Skip(batch)
        return
    prompts = batch.completions // max(1, batch.generations)
    if 0 < dataset.rows < prompts:
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=dataset.path),
            evidence=(Observed.quoted("batch rule", f"{batch.sum}, {batch.generations} for each prompt"),),
            confidence=LIKELY,
            rows=dataset.rows,
            prompts=prompts,
        )


def of_courses(courses: Courses) -> Finding | None:
    """The same of settings that a log tells, where the rows are limited to fewer than a rollout takes."""
    rows, prompts = courses.number(*_LIMITS), courses.number(*_BATCHES)
    if rows is None or prompts is None or not 0 < rows < prompts:
        return None
    return found(PROBLEM, LIMITED, confidence=LIKELY, rows=int(rows), prompts=int(prompts))
