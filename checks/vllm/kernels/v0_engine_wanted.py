"""Judges v0-engine-wanted (VLL023), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
REFUSED = TOML["refused"]
IGNORED = TOML["ignored"]


@check(PROBLEM)
def v0_engine_wanted(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """Only a command that uses vLLM reads the variable."""
    if serving is None and (training is None or not training.value("use_vllm")):
        return
    setting = training.environment_set.get("VLLM_USE_V1") if training is not None else None
    value = str(setting.value) if setting is not None and setting.known else environment.get("VLLM_USE_V1")
    if (value or "").strip() != "0":
        return
    refused = bool(packages.matches("vllm", "<0.11.1"))
    yield found(
        PROBLEM,
        REFUSED if refused else IGNORED,
        version=packages.version("vllm"),
        severity=ERROR if refused else WARNING,
        where=place_of(setting),
        commands=("unset VLLM_USE_V1",),
        evidence=proofs(setting) or (Observed.quoted("environment", "VLLM_USE_V1=0"),),
    )
