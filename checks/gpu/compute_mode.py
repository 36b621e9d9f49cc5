"""The compute mode of a GPU keeps processes out.

## What it means
An administrator has set the card to take one process only, or none.
## What it does to a run
In prohibited mode every CUDA call fails with "all CUDA-capable devices are busy or unavailable"; in exclusive mode
the second process on the card does, for example a vLLM server beside a trainer.
## What to do
Set the compute mode back to default.
## How it is found
NVML, compute mode of the GPUs that the command can see.
In a log: by the message that the program or the driver prints.
## References
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-modes
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="GPU012", name="gpu-compute-mode", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"all CUDA-capable devices are busy or unavailable|CUDA-capable device\(s\) is/are busy or"
        r" unavailable",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the GPU does not take this process: busy or unavailable",
        "Either its compute mode is exclusive and another process is on it (a server beside the trainer, "
        "the run before), or prohibited, or the card is a MIG parent without an instance, or in an error "
        "state.",
        "`nvidia-smi -q -d COMPUTE` shows the mode: `nvidia-smi -c 0` as root sets it back to default. "
        "See with `nvidia-smi` who is on the card and end it; choose another with CUDA_VISIBLE_DEVICES. "
        "If nobody is, reset the GPU or reboot.",
    ),
    zh=Words(
        "GPU 不接受该进程:繁忙或不可用",
        "可能是计算模式为独占而其上已有进程(训练旁的服务器、上一次运行),或模式为禁止,或该卡是没有实例的 "
        "MIG 父卡,或处于错误状态。",
        "`nvidia-smi -q -d COMPUTE` 显示模式:以 root 执行 `nvidia-smi -c 0` 恢复默认。用 `nvidia-smi` 查"
        "看占用者并结束它;用 CUDA_VISIBLE_DEVICES 选择其他卡。若没有占用者,重置 GPU 或重启。",
    ),
)

LOG_COMMANDS = ("nvidia-smi -q -d COMPUTE",)

LOG_CONFIDENCE = LIKELY

PROHIBITED = Message(
    en=Words(
        "{gpu} has compute mode `prohibited`",
        "Every CUDA call on it fails with `all CUDA-capable devices are busy or unavailable`.",
        "Set the compute mode back to default.",
    ),
    zh=Words(
        "{gpu} 的计算模式为 `prohibited`",
        "该卡上的任何 CUDA 调用都会以 `all CUDA-capable devices are busy or unavailable` 失败。",
        "将计算模式恢复为默认值。",
    ),
)

EXCLUSIVE = Message(
    en=Words(
        "{gpu} has compute mode `exclusive_process` and is held by pid {pid}",
        "A second process on the card fails with `all CUDA-capable devices are busy or unavailable`.",
        "End the process that holds the card, or set the compute mode back to default.",
    ),
    zh=Words(
        "{gpu} 的计算模式为 `exclusive_process`,且已被 pid {pid} 占用",
        "该卡上的第二个进程会以 `all CUDA-capable devices are busy or unavailable` 失败。",
        "结束占用该卡的进程,或将计算模式恢复为默认值。",
    ),
)


@check(PROBLEM)
def compute_mode(gpus: Gpus, launch: Launch, world: World | None) -> Judgement:
    """Judge the cards that the command can see."""
    if not (launch.trains or launch.serves):
        return
    visible = world.visible_gpus if world else None
    for gpu in gpus.gpus:
        if visible is not None and gpu.index not in visible:
            continue
        where, mode = Where(gpu=gpu.index), (Evidence("NVML", f"compute mode {gpu.compute_mode}"),)
        mend = (f"sudo nvidia-smi -i {gpu.index} -c DEFAULT",)
        if gpu.compute_mode == "prohibited":
            yield found(PROBLEM, PROHIBITED, gpu=gpu.label, where=where, commands=mend, evidence=mode)
        elif gpu.compute_mode == "exclusive_process" and gpu.processes:
            yield found(
                PROBLEM, EXCLUSIVE, gpu=gpu.label, pid=gpu.processes[0].pid, severity=WARNING, where=where,
                commands=mend, evidence=mode,
            )  # fmt: skip
