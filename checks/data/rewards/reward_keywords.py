"""Judges reward-function-keywords (DAT001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
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


@check(PROBLEM)
def reward_keywords(training: Training, packages: Packages, dataset: Dataset | None) -> Judgement:
    """Judge each function whose definition is seen."""
    if not is_grpo(training):
        return
    columns = training.rows.columns if training.rows is not None else ()
    columns = dataset.columns if dataset is not None and not training.dataset_processed else columns
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


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    return blamed(TOML, hits, "name")
