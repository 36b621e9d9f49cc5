"""Judges fsdp-weights-not-sent (TRL074), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import config_place, installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
ADAPTER = TOML["adapter"]


_SECOND = 2


@check(PROBLEM)
def fsdp_weights_not_sent(
    training: Training, world: World, packages: Packages, accelerate_config: AccelerateConfig | None
) -> Judgement:
    """Judge FSDP's version first: with the second nothing is sent, adapters or not."""
    use = training.get("use_vllm")
    if not is_grpo(training) or world.backend != "fsdp" or use is None or use.value is not True:
        return
    chosen = accelerate_config.settings.get("fsdp_config.fsdp_version") if accelerate_config is not None else None
    second = chosen is not None and whole(chosen.value) == _SECOND
    if not second and training.lora is None:
        return
    yield found(
        PROBLEM,
        MESSAGE if second else ADAPTER,
        where=place_of(chosen if second else use, otherwise=config_place(training)),
        evidence=quoted(*(each for each in (chosen, use) if each is not None)),
        commands=('pip install "trl>=0.20"',),
        version=installed(packages, "trl"),
    )
