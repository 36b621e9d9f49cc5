"""Judges fp16-for-bf16-model (NUM001), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.bf16 import bf16_native, saved_in_bf16
from doctor.catalogue.shared.precision import precision
from doctor.catalogue.shared.trainers import config_place, installed, quoted
from doctor.catalogue.words import words_of
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def fp16_for_bf16_model(
    training: Training,
    world: World,
    model: Model,
    packages: Packages,
    deepspeed: DeepspeedConfig | None,
    gpus: Gpus | None,
) -> Judgement:
    """Compare the run's precision with the model's; bf16 is not advised to cards that only emulate it (GPU013)."""
    chosen = precision(training, world, deepspeed, installed(packages, "trl"))
    if chosen is None:
        yield Skip("the precision of the run could not be read without running the script")
        return
    if chosen[0] == "fp16" and model.torch_dtype is None and not model.here:
        yield Skip(f"no public source states the dtype of `{model.name}`, and it is not on this machine")
    if chosen[0] != "fp16" or model.torch_dtype is None:
        return
    if saved_in_bf16(model):
        from_json = chosen[1] is not None and chosen[1].name.endswith(".enabled")
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(chosen[1], otherwise=config_place(training)),
            evidence=(*quoted(chosen[1]), Observed.quoted(model.stated_in, f"torch_dtype: {model.torch_dtype}")),
            commands=(_instead(from_json, bf16_native(gpus, world) is not False),),
            confidence=LIKELY,
            model=model.name,
        )


def _instead(in_json: bool, bf16: bool) -> str:
    """The line that takes the place of fp16: bf16 where the cards compute in it, else fp32."""
    if in_json:
        return '"bf16": {"enabled": true}' if bf16 else '"fp16": {"enabled": false}'
    return "bf16=True" if bf16 else "fp16=False, bf16=False"
