"""Judges model-loaded-across-devices (ACC013), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_CPU = TOML["log_cpu"]
MESSAGE = TOML["main"]

#: maps that lay one copy over all GPUs that a process sees; `sequential` may leave it on the first
#: (https://huggingface.co/docs/accelerate/concept_guides/big_model_inference)
SPREAD = ("auto", "balanced", "balanced_low_0")


@check(PROBLEM)
def mapped_under_ranks(training: Training, world: World) -> Judgement:
    """ZeRO-3 and what TRL hands to `from_pretrained` itself are other matters (DSP023)."""
    setting = training.model_arguments.get("device_map")
    if setting is None or not setting.known or setting.value not in SPREAD or (world.local_processes or 0) < 2:
        return
    if "model_init_kwargs" in training.arguments or setting.name.startswith("model_init_kwargs."):
        return
    if world.zero_stage == 3 or training.trainer is None or (world.visible_gpus and len(world.visible_gpus) < 2):
        return
    yield found(
        PROBLEM, MESSAGE, where=place_of(setting), evidence=quoted(setting), confidence=LIKELY,
        value=setting.value, processes=world.local_processes,
    )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Several GPUs, or the CPU; weights on `meta` were never loaded, which is another matter."""
    if "meta" in (hits.first.groups.get("devices") or ""):
        return None
    message = LOG_MESSAGE_CPU if "cpu" in (hits.first.groups.get("devices") or "") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
