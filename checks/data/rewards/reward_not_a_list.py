"""Judges reward-not-a-list (DAT003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.trainers import is_grpo
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.data._logged import by_trainer
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
NONES = TOML["nones"]
ALWAYS = TOML["always"]
SOMETIMES = TOML["sometimes"]


#: kind of return -> how it is shown, the same in every language
KINDS = {"scalar": "`scalar`", "none": "`None`", "str": "`str`"}


@check(PROBLEM)
def reward_not_a_list(training: Training) -> Judgement:
    """Judge the kinds of return that the source proves."""
    if not is_grpo(training):
        return
    for function in training.reward_functions:
        wrong = [KINDS[each] for each in function.returns if each in KINDS]
        if not wrong:
            continue
        always = len(wrong) == len(function.returns)
        place = function.return_places[0] if always and function.return_places else function.place
        yield found(
            PROBLEM,
            ALWAYS if always else SOMETIMES,
            where=Where(file=place.file, line=place.line, column=place.column),
            evidence=(
                Observed.quoted(place.file, f"{function.name}: returns {', '.join(function.returns)}", place.line),
            ),
            severity=ERROR if always else WARNING,
            confidence=CONFIRMED if always else LIKELY,
            name=function.name,
            kind=wrong[0],
        )


#: number of the signature -> what was returned
_WHAT = ("a single `{}`", "a list of `{}`", "a list of `{}`", "a list of lists", "a list of tensors")

#: place of "must be real number" in SIGNATURES
_OF_NONE = 2


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    raised = by_trainer(hits)
    if not raised:
        return None
    what = _WHAT[raised[0].signature].format(raised[0].groups.get("kind", "?"))
    if raised[0].signature == _OF_NONE and raised[0].groups.get("kind") == "NoneType":
        return found(PROBLEM, NONES, where=hits.where(), evidence=hits.evidence())
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), what=what)
