"""Judges empty-prompts (DAT007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, Where, found
from doctor.catalogue.shared.trainers import is_grpo
from doctor.catalogue.words import words_of
from doctor.facts.dataset import Dataset
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def empty_prompts(dataset: Dataset, training: Training) -> Judgement:
    """Judge the rows read; a script that processes them may well filter them out."""
    if not is_grpo(training) or not dataset.empty_prompt_count:
        return
    if training.dataset_processed:
        yield Skip("what the script does to the dataset's rows is not seen")
        return
    first = dataset.empty_prompts[0] if dataset.empty_prompts else None
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=dataset.path, line=first),
        evidence=(Observed.quoted(dataset.path, f"rows {', '.join(map(str, dataset.empty_prompts))}", first),),
        commands=('dataset = dataset.filter(lambda row: len(row["prompt"]) > 0)',),
        count=dataset.empty_prompt_count,
        rows=dataset.rows_read,
        line=first if first is not None else "?",
    )
