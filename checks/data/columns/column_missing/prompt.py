"""Judges DAT1825/prompt, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, Where, found
from doctor.catalogue.shared.trainers import is_grpo, listing
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


#: names under which datasets keep what GRPO calls `prompt`
LIKE_PROMPT = ("prompts", "question", "problem", "instruction", "query", "input", "messages", "text")


@check(PROBLEM)
def prompt_column_missing(training: Training, dataset: Dataset) -> Judgement:
    """Judge the columns of the first row, where they reach the trainer as they are."""
    if not is_grpo(training) or not dataset.columns or "prompt" in dataset.columns:
        return
    if "environment_factory" in training.trainer_arguments:
        return  # the environment brings the prompts
    if training.dataset_processed:
        yield Skip("what the script makes of the dataset's columns is not seen")
        return
    alike = next((each for each in LIKE_PROMPT if each in dataset.columns), None)
    rename = f'dataset = dataset.rename_column("{alike}", "prompt")'
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=dataset.path),
        evidence=(Observed.quoted(dataset.path, f"columns: {', '.join(dataset.columns)}"),),
        commands=(rename,) if alike else (),
        path=dataset.path.rpartition("/")[2],
        columns=listing(dataset.columns[:6]),
    )


def explain(hits: Hits) -> Finding | None:
    """Leave out reward functions that look for a prompt among their keywords: their own frame is the innermost."""
    if not any(hit.frames and _TRAINER.search(hit.frames[-1]) for hit in hits):
        return None
    commands = ('dataset = dataset.rename_column("question", "prompt")',)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands)


_TRAINER = re.compile(r"(?i)grpo\w*trainer\.py:|trl/data_utils\.py:|trl[\\/]trainer[\\/]\w+\.py:")
