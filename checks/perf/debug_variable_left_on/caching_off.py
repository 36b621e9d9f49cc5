"""Judges PRF6399/caching_off, a row of debug-variable-left-on; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.words import words_of
from doctor.checks.perf.debug_variable_left_on import switched_on
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
VARIABLE = "PYTORCH_NO_CUDA_MEMORY_CACHING"


@check(PROBLEM)
def cuda_caching_off(launch: Launch, environment: Environment, training: Training | None) -> Judgement:
    """The variable of this row."""
    yield from switched_on(VARIABLE, TOML, launch, environment, training)
