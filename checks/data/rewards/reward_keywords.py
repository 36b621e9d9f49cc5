"""Judges reward-function-keywords (DAT001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.settings import at
from doctor.catalogue.shared.trainers import installed, is_grpo, listing
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.data._logged import blamed
from doctor.checks.data._passed import NEVER_PASSED, signature_of
from doctor.checks.data._passed import passed as handed
from doctor.facts.dataset import Dataset
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
TWICE = TOML["twice"]
#: keywords that each call writes out beside the columns; the others replace a column of their name
#: https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
_OWN = ("completions", "prompts")


@check(PROBLEM)
def reward_keywords(training: Training, packages: Packages, dataset: Dataset | None) -> Judgement:
    """Judge each function whose definition is seen."""
    if not is_grpo(training):
        return
    columns = training.rows.columns if training.rows is not None else ()
    columns = dataset.columns if dataset is not None and not training.dataset_processed else columns
    yield from _twice(training, packages, dataset)
    passed = [*handed(packages), *(each for each in columns if each not in NEVER_PASSED)]
    for function in training.reward_functions:
        missing = [each for each in dict.fromkeys(passed) if each not in function.parameters]
        if function.has_var_keyword or not missing:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            where=at(function.place),
            evidence=signature_of(function),
            commands=(f"def {function.name}({', '.join((*function.parameters, '**kwargs'))}):",),
            name=function.name,
            missing=listing(missing[:3]),
            version=installed(packages, "trl"),
        )


def _twice(training: Training, packages: Packages, dataset: Dataset | None) -> Judgement:
    """A column that has the name of a keyword which TRL passes itself."""
    rows, sure = training.rows, dataset is not None and not training.dataset_processed
    there = dict.fromkeys(rows.columns if rows is not None else ())
    if dataset is not None and (sure or (rows is not None and not rows.complete)):
        removed = rows.removed if rows is not None else ()
        there.update(dict.fromkeys(each for each in dataset.columns if each not in removed))
    for name in (each for each in _OWN if each in there and each in handed(packages)):
        made = rows is not None and name in rows.columns
        yield found(
            PROBLEM,
            TWICE,
            where=at(rows.place) if rows is not None else Where(file=dataset.path if dataset is not None else None),
            confidence=CONFIRMED if sure or made else LIKELY,
            column=name,
            version=installed(packages, "trl"),
        )


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    return blamed(TOML, hits, "name")
