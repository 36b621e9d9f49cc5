"""Judges reward-async-unsupported (DAT004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Where, found
from doctor.catalogue.shared.trainers import installed, is_grpo
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.data._logged import by_trainer
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def reward_async(training: Training, packages: Packages) -> Judgement:
    """Judge the definition; the engine has compared the version."""
    if not is_grpo(training):
        return
    for function in training.reward_functions:
        if function.is_async:
            place = function.place
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=place.file, line=place.line, column=place.column),
                evidence=(Observed.quoted(place.file, f"async def {function.name}", place.line),),
                commands=('pip install "trl>=0.27"',),
                name=function.name,
                version=installed(packages, "trl"),
            )


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    raised = by_trainer(hits)
    if not raised:
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())
