"""Offload is asked for at a ZeRO stage that does not do it.

## What it means
`offload_param` works at stage 3 only, `offload_optimizer` from stage 1. At another stage DeepSpeed reads the setting
and does nothing.
## What it does to a run
Parameters stay on the GPU without a word, and the memory that offload was to free stays taken. At stage 0 the CPU
optimizer is made for weights on the GPU, and the first step ends with `CPUAdam param is on cuda:0 and must be 'cpu'`.
## What to do
Raise the stage, or remove the setting.
## How it is found
Stage and offload devices of the JSON or of the accelerate file.
## References
https://www.deepspeed.ai/docs/config-json/#zero-optimizations-for-fp16-training
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/ops/adam/cpu_adam.py
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import of_yaml, setting_of
from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.world import World

PROBLEM = Problem(id="DSP011", name="deepspeed-offload-without-its-stage", severity=WARNING, since="0.1")

PARAMETERS = Message(
    en=Words(
        "`offload_param` is {device} at ZeRO stage {stage}, which does not offload parameters",
        "DeepSpeed passes over the setting without a word: the parameters stay in GPU memory.",
        "Raise the stage to 3, or remove the setting.",
    ),
    zh=Words(
        "ZeRO stage {stage} 下把 `offload_param` 设为 {device},而该 stage 不卸载参数",
        "DeepSpeed 不作提示就跳过该设置:参数仍留在显存里。",
        "把 stage 提高到 3,或删去该设置。",
    ),
)
OPTIMIZER = Message(
    en=Words(
        "`offload_optimizer` is {device} at ZeRO stage {stage}, which keeps the weights on the GPU",
        "DeepSpeed makes its CPU optimizer all the same, and the first step ends with `CPUAdam param is on cuda and "
        "must be 'cpu'`.",
        "Raise the stage to 1 or more, or remove the setting.",
    ),
    zh=Words(
        "ZeRO stage {stage} 下把 `offload_optimizer` 设为 {device},而该 stage 的权重留在 GPU 上",
        "DeepSpeed 仍会创建 CPU 优化器,第一步就以 `CPUAdam param is on cuda and must be 'cpu'` 退出。",
        "把 stage 提高到 1 以上,或删去该设置。",
    ),
)


@check(PROBLEM)
def offload_without_its_stage(
    world: World, deepspeed: DeepspeedConfig | None, accelerate: AccelerateConfig | None
) -> Judgement:
    """The stage as the world resolved it; the place from whichever file says it."""
    if world.backend != "deepspeed" or world.zero_stage is None:
        return
    wanted = (
        ("offload_param", world.offload_param, 3, PARAMETERS, WARNING),
        ("offload_optimizer", world.offload_optimizer, 1, OPTIMIZER, ERROR),
    )
    for what, device, needed, message, severity in wanted:
        if device not in {"cpu", "nvme"} or world.zero_stage >= needed:
            continue
        setting = setting_of(deepspeed, f"zero_optimization.{what}.device") or of_yaml(accelerate, f"{what}_device")
        yield found(
            PROBLEM,
            message,
            device=device,
            stage=world.zero_stage,
            where=place_of(setting),
            severity=severity,
            confidence=CONFIRMED if needed == 3 else LIKELY,
            evidence=proofs(setting),
        )
