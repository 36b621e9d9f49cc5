"""Judges DAT1825/prompt, a row of column-missing; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Confidence, Finding, Skip, Where, found
from doctor.catalogue.shared.trainers import certainty, is_grpo, listing
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
def prompt_column_missing(training: Training, dataset: Dataset | None) -> Judgement:
    """Judge the data's first row where it reaches the trainer as it is, else the rows that the script makes itself."""
    if not is_grpo(training) or "environment_factory" in training.trainer_arguments:
        return  # an environment brings the prompts
    rows = training.rows
    if dataset is not None and dataset.columns and not training.dataset_processed:
        if "prompt" not in dataset.columns:
            yield _missing(
                Where(file=dataset.path), dataset.path.rpartition("/")[2], dataset.columns, certainty(training)
            )
    elif rows is not None and ("prompt" in rows.columns or rows.lacks("prompt")):
        if rows.lacks("prompt"):
            yield _missing(
                Where(file=rows.place.file, line=rows.place.line, column=rows.place.column),
                "train_dataset",
                rows.columns if rows.complete else (),
                LIKELY if rows.lacks_as_published("prompt") else certainty(training),
            )
    elif dataset is None or training.dataset_processed:
        yield Skip("what the script does to the dataset's columns is not seen")


def _missing(where: Where, name: str, columns: tuple[str, ...], confidence: Confidence) -> Finding:
    """What is said; a trainer class of the user's own may add the column, so it is likely there."""
    alike = next((each for each in LIKE_PROMPT if each in columns), None)
    rename = f'dataset = dataset.rename_column("{alike}", "prompt")'
    shown = f"columns: {', '.join(columns)}" if columns else "column removed or renamed: prompt"
    return found(
        PROBLEM,
        MESSAGE,
        where=where,
        evidence=(Observed.quoted(where.file or "", shown, where.line),),
        commands=(rename,) if alike else (),
        confidence=confidence,
        path=name,
        columns=listing(columns[:6]) if columns else None,
    )


def explain(hits: Hits) -> Finding | None:
    """Leave out reward functions that look for a prompt among their keywords: their own frame is the innermost."""
    if not any(hit.frames and _TRAINER.search(hit.frames[-1]) for hit in hits):
        return None
    commands = ('dataset = dataset.rename_column("question", "prompt")',)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands)


_TRAINER = later(r"(?i)grpo\w*trainer\.py:|trl/data_utils\.py:|trl[\\/]trainer[\\/]\w+\.py:")
