"""Judges reward-parameter-not-passed (DAT002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.shared.trainers import is_grpo
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.data._logged import by_trainer
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


@check(PROBLEM)
def reward_parameter_not_passed(training: Training) -> Judgement:
    """Judge the two names; whether they have a default is not seen, so it is only likely."""
    if not is_grpo(training):
        return
    for function in training.reward_functions:
        for parameter in ("prompt", "completion"):
            if parameter not in function.parameters:
                continue
            place = function.place
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=place.file, line=place.line, column=place.column),
                evidence=(
                    Observed.quoted(place.file, f"{function.name}({', '.join(function.parameters)})", place.line),
                ),
                confidence=LIKELY,
                name=function.name,
                parameter=parameter,
                plural=f"{parameter}s",
            )


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    raised = by_trainer(hits)
    if not raised:
        return None
    groups = raised[0].groups
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        severity=ERROR,
        function=groups["function"].rpartition(".")[2],
        names=groups["names"].replace("'", "`"),
    )
