"""What rows of debug-variable-left-on share that take judgement of their own."""

from __future__ import annotations

from doctor.catalogue.check import Judgement
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import shown, value_of, where_set
from doctor.catalogue.words import MAIN, ProblemWords
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training


def switched_on(
    variable: str, words: ProblemWords, launch: Launch, environment: Environment, training: Training | None
) -> Judgement:
    """Judge a variable that is 1 for commands that train or serve."""
    if value_of(environment, training, variable) != "1" or not (launch.trains or launch.serves):
        return
    yield found(
        words.problem,
        words[MAIN],
        where=where_set(training, variable),
        commands=(f"unset {variable}",),
        evidence=shown(variable, "1"),
    )
