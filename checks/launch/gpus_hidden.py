"""Every GPU is hidden from the command.

## What it means
CUDA_VISIBLE_DEVICES is empty, -1, or starts with a device that does not exist, so CUDA shows no GPU to the processes.
## What it does to a run
vLLM, NCCL and DeepSpeed end at start-up; the Trainer falls back to the CPU, where bf16 raises and training takes ages.
## What to do
Unset CUDA_VISIBLE_DEVICES, or list the GPUs to use.
## How it is found
The machine has GPUs and the variables of the command leave none of them visible.
## References
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars
"""

from __future__ import annotations

from doctor.checks.launch._helpers import seen_by
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="LCH007", name="gpus-hidden", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`CUDA_VISIBLE_DEVICES={value}` hides every GPU of this machine ({count})",
        "CUDA shows no device to the processes: vLLM, NCCL and DeepSpeed end at start-up, and the Trainer "
        "falls back to the CPU.",
        "Unset `CUDA_VISIBLE_DEVICES`, or list the GPUs to use.",
    ),
    zh=Words(
        "`CUDA_VISIBLE_DEVICES={value}` 对该命令隐藏了全部 {count} 张 GPU",
        "进程看不到任何 CUDA 设备:vLLM、NCCL 和 DeepSpeed 在启动时退出,Trainer 则退回到 CPU。",
        "取消设置 `CUDA_VISIBLE_DEVICES`,或列出要使用的 GPU。",
    ),
)


@check(PROBLEM, requires=("LCH006",))
def gpus_hidden(
    launch: Launch, world: World | None, gpus: Gpus, environment: Environment, training: Training | None
) -> Judgement:
    """Silent where the CPU was chosen on purpose."""
    value = environment.get("CUDA_VISIBLE_DEVICES")
    if value is None or not gpus.gpus or not (launch.trains or launch.serves):
        return
    if seen_by(world, gpus, environment) != () or (world is not None and world.backend == "cpu"):
        return
    if training is not None and (training.value("use_cpu") or not training.complete):
        return
    if launch.kind == "python" and (training is None or training.trainer is None):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        value=value,
        count=len(gpus.gpus),
        commands=("unset CUDA_VISIBLE_DEVICES",),
        evidence=(Evidence("environment", f"CUDA_VISIBLE_DEVICES={value}"),),
    )
