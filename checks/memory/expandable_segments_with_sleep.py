"""Judges expandable-segments-with-sleep (MEM005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
SGLANG = TOML["sglang"]


#: releases of vLLM that refuse the pair: https://github.com/vllm-project/vllm/pull/14189
VLLM = ">=0.8,<=0.20.0"
#: releases of torch-memory-saver that refuse it, and the one name that they look at:
#: https://github.com/fzyzcjy/torch_memory_saver/pull/25
SAVER, OF_SAVER = ">=0.0.9", "PYTORCH_CUDA_ALLOC_CONF"
VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


@check(PROBLEM)
def expandable_segments_with_sleep(
    environment: Environment, packages: Packages, serving: Serving | None, training: Training | None
) -> Judgement:
    """The variable counts from wherever it is set before torch starts."""
    if not packages.matches("vllm", VLLM):
        return
    setting = serving.arguments.get("enable_sleep_mode") if serving is not None else None
    if setting is None and training is not None and training.value("use_vllm"):
        setting = training.get("vllm_enable_sleep_mode")
    if setting is None or not setting.known or not truth(setting.value):
        return
    for variable in VARIABLES:
        written, value = _set(variable, environment, training)
        if not _expandable(value):
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


@check(PROBLEM)
def expandable_segments_with_saver(environment: Environment, packages: Packages, verl: VerlConfig | None) -> Judgement:
    """Of veRL, which turns SGLang's memory saver on whatever else is set.

    https://github.com/verl-project/verl/blob/v0.4.1/verl/workers/rollout/sglang_rollout/sglang_rollout.py
    """
    engine = verl.get("actor_rollout_ref.rollout.name") if verl is not None else None
    if engine is None or engine.value != "sglang" or not packages.matches("torch-memory-saver", SAVER):
        return
    value = environment.get(OF_SAVER) or ""
    if not _expandable(value):
        return
    yield found(
        PROBLEM,
        SGLANG,
        variable=OF_SAVER,
        version=packages.version("torch-memory-saver"),
        where=place_of(engine),
        confidence=LIKELY,
        commands=(f"unset {OF_SAVER}",),
        evidence=(Observed.quoted("environment", f"{OF_SAVER}={value}"), proof(engine)),
    )


def _set(variable: str, environment: Environment, training: Training | None) -> tuple[Observed | None, str]:
    """Where the script sets a variable, if it does, and what it is then."""
    written = training.environment_set.get(variable) if training is not None else None
    value = str(written.value) if written is not None and written.known else environment.get(variable) or ""
    return written, value


def _expandable(value: str) -> bool:
    return "expandable_segments:true" in value.replace(" ", "").lower()
