"""Judges reward-count-differs (DAT013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import at, whole
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.data._logged import by_trainer
from doctor.facts.packages import Packages
from doctor.facts.training import Training, effective_value

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_UNNAMED = TOML["log_unnamed"]
ONE = TOML["one"]
_SEVERAL = 2


@check(PROBLEM)
def reward_count(training: Training, packages: Packages) -> Judgement:
    """Judge functions that return a list of one, where a process scores several completions at a time."""
    if not is_grpo(training):
        return
    batch = effective_value(training, packages, "per_device_train_batch_size")
    several = whole(batch.value) if batch is not None else None
    if several is None or several < _SEVERAL:
        return
    for function in training.reward_functions:
        if function.of_one:
            places = function.return_places or (function.place,)
            shown = Observed.quoted(places[0].file, f"{function.name}: a list of one element", places[0].line)
            yield found(
                PROBLEM, ONE, where=at(places[0]), evidence=(shown, *quoted(batch)),
                confidence=LIKELY, function=function.name, wanted=several,
                raises=packages.matches("trl", ">=1.10"),
            )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Take the numbers from the exception; before 1.10 only where the trainer's own frame raised."""
    named = hits.of(0)
    raised = named or by_trainer(hits)
    if not raised:
        return None
    groups = raised[0].groups
    return found(
        PROBLEM,
        LOG_MESSAGE if named else LOG_MESSAGE_UNNAMED,
        where=hits.where(),
        evidence=hits.evidence(),
        function=groups.get("function"),
        got=groups["got"],
        wanted=groups["wanted"],
    )
