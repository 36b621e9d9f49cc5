"""Judges xformers-backend-gone (VLL025), whose words stand in the TOML beside it."""

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
def xformers_backend_gone(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only a command that uses vLLM reads the variable."""
    if serving is None and (training is None or not training.value("use_vllm")):
        return
    setting = training.environment_set.get("VLLM_ATTENTION_BACKEND") if training is not None else None
    value = str(setting.value) if setting is not None and setting.known else environment.get("VLLM_ATTENTION_BACKEND")
    if (value or "").upper() != "XFORMERS":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=packages.version("vllm"),
        where=place_of(setting),
        commands=("unset VLLM_ATTENTION_BACKEND",),
        evidence=proofs(setting) or (Observed.quoted("environment", f"VLLM_ATTENTION_BACKEND={value}"),),
    )
