"""Judges fp16-weights-with-scaler (TRF018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
HALF = frozenset({"float16", "torch.float16", "half", "torch.half", "fp16"})


@check(PROBLEM)
def fp16_weights_with_scaler(training: Training, world: World) -> Judgement:
    """DeepSpeed scales by itself, and PEFT keeps its adapters in fp32."""
    fp16 = training.get("fp16")
    if fp16 is None or not fp16.known or not truth(fp16.value) or world.backend == "deepspeed":
        return
    if training.lora is not None or training.trainer_arguments.get("peft_config") or training.get("use_peft"):
        return
    named = (training.model_arguments.get(each) for each in ("dtype", "torch_dtype"))
    dtype = next(filter(None, named), None)
    if dtype is None or str(dtype.value if dtype.known else dtype.text) not in HALF:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        dtype=dtype.name.rpartition(".")[2],
        where=place_of(dtype, fp16),
        confidence=LIKELY,
        commands=("bf16=True",),
        evidence=(*quoted(dtype), *quoted(fp16)),
    )
