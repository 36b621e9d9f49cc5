"""Judges expandable-segments-with-sleep (MEM005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


@check(PROBLEM)
def expandable_segments_with_sleep(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """The variable counts from wherever it is set before torch starts."""
    setting = serving.arguments.get("enable_sleep_mode") if serving is not None else None
    if setting is None and training is not None and training.value("use_vllm"):
        setting = training.get("vllm_enable_sleep_mode")
    if setting is None or not setting.known or not truth(setting.value):
        return
    for variable in VARIABLES:
        written = training.environment_set.get(variable) if training is not None else None
        value = str(written.value) if written is not None and written.known else environment.get(variable) or ""
        if "expandable_segments:true" not in value.replace(" ", "").lower():
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            variable=variable,
            version=packages.version("vllm"),
            where=place_of(written, setting),
            commands=(f"unset {variable}",),
            evidence=(Observed.quoted("environment", f"{variable}={value}"), proof(setting)),
        )
