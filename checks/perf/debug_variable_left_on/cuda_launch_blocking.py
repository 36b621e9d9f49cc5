"""Judges PRF6399/cuda_launch_blocking, a row of debug-variable-left-on; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import shown, value_of, where_set
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLE = "CUDA_LAUNCH_BLOCKING"


@check(PROBLEM)
def cuda_launch_blocking(launch: Launch, environment: Environment, training: Training | None) -> Judgement:
    """Judge commands that train or serve."""
    if value_of(environment, training, VARIABLE) != "1" or not (launch.trains or launch.serves):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, "1"),
    )
