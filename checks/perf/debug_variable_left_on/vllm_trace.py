"""Judges PRF6399/vllm_trace, a row of debug-variable-left-on; its words stand in the TOML of the table."""

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


VARIABLE = "VLLM_TRACE_FUNCTION"


@check(PROBLEM)
def vllm_trace_function(launch: Launch, environment: Environment, training: Training | None) -> Judgement:
    """Judge servers and training that may hold vLLM."""
    value = (value_of(environment, training, VARIABLE) or "").strip()
    inside = launch.kind in {"verl", "trinity"} or (training is not None and training.value("use_vllm") is True)
    if not value.isdigit() or int(value) == 0 or not (launch.serves or inside):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        where=where_set(training, VARIABLE),
        commands=(f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )
