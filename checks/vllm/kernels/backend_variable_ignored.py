"""Judges attention-backend-variable-ignored (VLL024), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def backend_variable_ignored(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only a command that uses vLLM reads the variable."""
    if serving is None and (training is None or not training.value("use_vllm")):
        return
    if serving is not None and "attention_backend" in serving.arguments:
        return
    setting = training.environment_set.get("VLLM_ATTENTION_BACKEND") if training is not None else None
    value = str(setting.value) if setting is not None and setting.known else environment.get("VLLM_ATTENTION_BACKEND")
    if not value:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        version=packages.version("vllm"),
        where=place_of(setting),
        commands=(f"--attention-backend {value.removesuffix('_VLLM_V1')}",) if serving is not None else (),
        evidence=proofs(setting) or (Observed.quoted("environment", f"VLLM_ATTENTION_BACKEND={value}"),),
    )
