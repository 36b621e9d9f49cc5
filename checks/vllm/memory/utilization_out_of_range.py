"""Judges gpu-memory-utilization-out-of-range (VLL022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of
from doctor.facts.serving import Serving
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


#: below it nothing of a model fits beside its weights, so that no percentage was meant (1.3 is not 1.3 %)
LEAST_PERCENTAGE = 10
#: defaults: of vLLM (https://docs.vllm.ai/en/latest/configuration/engine_args.html) and of TRL's
#: `vllm_gpu_memory_utilization`, which leaves the rest to the training
#: (https://huggingface.co/docs/trl/grpo_trainer#trl.GRPOConfig.vllm_gpu_memory_utilization)
SERVER_SHARE, TRAINING_SHARE = 0.9, 0.3


@check(PROBLEM)
def utilization_out_of_range(serving: Serving | None, training: Training | None) -> Judgement:
    """0 and less is told too: no release works with it."""
    if serving is not None:
        setting = serving.arguments.get("gpu_memory_utilization")
    else:
        setting = training.get("vllm_gpu_memory_utilization") if training and training.value("use_vllm") else None
    if setting is None or not setting.known:
        return
    try:
        value = float(str(setting.value))
    except ValueError:
        return
    if 0 < value <= 1:
        return
    percentage = LEAST_PERCENTAGE <= value <= 100
    share = value / 100 if percentage else SERVER_SHARE if serving is not None else TRAINING_SHARE
    flag = "--gpu-memory-utilization" if serving is not None else "--vllm_gpu_memory_utilization"
    yield found(
        PROBLEM,
        MESSAGE,
        name=setting.name,
        value=setting.text or setting.value,
        percentage=percentage,
        where=place_of(setting),
        commands=(f"{flag} {share:g}",),
        evidence=(proof(setting),),
    )


def explain(hits: Hits) -> Finding | None:
    """Pydantic names the field on the line before: the same error may list other fields with their values."""
    share = hits.of(0) or _of_the_field(hits)
    if not share:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("--gpu-memory-utilization 0.9",),
        share=share[0].groups["share"],
    )


def _of_the_field(hits: Hits) -> list[Hit]:
    named = {(each.file, each.line + 1) for each in hits.of(2)}
    return [each for each in hits.of(1) if (each.file, each.line) in named]
