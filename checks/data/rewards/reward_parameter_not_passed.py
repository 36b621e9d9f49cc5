"""Judges reward-parameter-not-passed (DAT002), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, Message, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.settings import at
from doctor.catalogue.shared.trainers import certainty, is_grpo, listing
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.data._logged import blamed
from doctor.checks.data._passed import PASSED, passed, signature_of
from doctor.facts.packages import Packages
from doctor.facts.rows import Rows
from doctor.facts.script import RewardFunction
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
COLUMN = TOML["column"]
DROPPED = TOML["dropped"]
ASKED = TOML["asked"]
KEYWORD = TOML["keyword"]


#: arguments of the trainer that hand reward functions more than the columns
_ADDING = {"rollout_func", "environment_factory"}
#: keywords of some releases, of which a function that asks for them knows that others do not pass them
_PASSED_LATER = frozenset(name for name, _ in PASSED)
#: names that no release passes, whatever columns there are
_NEVER = ("prompt", "completion")
#: columns that `remove_unused_columns=True` leaves (`_set_signature_columns_if_needed` of GRPOTrainer and RLOOTrainer)
#: https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
_KEPT = ("prompt", "image", "images")


@check(PROBLEM)
def reward_parameter_not_passed(training: Training, packages: Packages) -> Judgement:
    """Judge the names that are never passed, and those of columns where the script shows all columns."""
    if not is_grpo(training):
        return
    for function in training.reward_functions:
        for parameter in _NEVER:
            if parameter in function.parameters:
                # one with a default does not raise, and the default is worked on
                yield _told(function, MESSAGE, LIKELY, parameter=parameter, plural=f"{parameter}s")
        rows = training.rows
        if rows is None or not rows.complete or _ADDING & training.trainer_arguments.keys():
            continue
        given = {*rows.columns, *passed(packages), *_NEVER}
        yield from _keywords_absent(function, rows, given)
        for parameter in function.required:
            if parameter not in given:
                yield _told(
                    function,
                    COLUMN,
                    LIKELY if rows.lacks_as_published(parameter) else certainty(training),
                    severity=ERROR,
                    parameter=parameter,
                    columns=listing(rows.columns[:6]),
                )


def _keywords_absent(function: RewardFunction, rows: Rows, given: set[str]) -> Judgement:
    """Keys of `**kwargs` that no column has; one of several that are asked for is enough."""
    shown = listing(rows.columns[:6])
    for parameter in function.demanded:
        if parameter not in given:
            yield _told(function, KEYWORD, LIKELY, severity=ERROR, parameter=parameter, columns=shown)
            return
    asked = [each for each in function.asked if each not in _PASSED_LATER]
    if asked and not given & {*asked} and not any(each in rows.columns for each in function.parameters):
        yield _told(function, ASKED, LIKELY, parameter=asked[0], columns=shown)


@check(PROBLEM)
def reward_column_dropped(training: Training, packages: Packages) -> Judgement:
    """Judge columns that `remove_unused_columns` takes away; a trainer of the user's may choose others to keep."""
    setting = training.arguments.get("remove_unused_columns")
    if setting is None or setting.value is not True or certainty(training) != CONFIRMED:
        return
    if not (is_grpo(training) or training.trainer == "RLOOTrainer") or _ADDING & training.trainer_arguments.keys():
        return
    rows = training.rows
    for function in training.reward_functions:
        for parameter in dict.fromkeys((*function.required, *function.demanded)):
            absent = rows is not None and rows.complete and parameter not in rows.columns
            if absent or parameter in {*_KEPT, *_NEVER, *passed(packages)}:
                continue
            yield found(
                PROBLEM, DROPPED, where=at(setting.place or function.place), severity=ERROR, confidence=CONFIRMED,
                evidence=(*signature_of(function), setting), name=function.name, parameter=parameter,
            )  # fmt: skip


def _told(function: RewardFunction, message: Message, confidence: Confidence, **values: Any) -> Finding:
    return found(
        PROBLEM, message, where=at(function.place), evidence=signature_of(function), confidence=confidence,
        name=function.name, **values,
    )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Blame the function only where the trainer's own frame raised."""
    return blamed(TOML, hits, "names", severity=ERROR)
