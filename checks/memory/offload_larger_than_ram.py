"""The optimizer states that are to be offloaded do not fit into the memory of this machine.

## What it means
DeepSpeed's optimizer offload keeps fp32 weights, two moments and gradients of every parameter in the memory of the
host: 16 bytes a parameter over all machines together, 18 with the parameters. Its own estimate adds half as much for
buffers.
## What it does to a run
The kernel kills a rank (exit code -9), or the pinned allocation fails, when the engine is made or at the first step.
## What to do
Use more machines, offload to NVMe, train with LoRA, or raise the memory limit of the container.
## How it is found
Parameters of the model's files, the offload of the configuration, memory and cgroup limit of this machine.
## References
https://deepspeed.readthedocs.io/en/latest/memory.html
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/zero/stage3.py
"""

from __future__ import annotations

from doctor.checks.memory._helpers import full_parameters, gib
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.host import Host
from doctor.facts.model import Model
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="MEM004", name="offload-larger-than-ram", severity=ERROR, since="0.1")

OPTIMIZER_BYTES = 16  # fp32 weights, two moments, gradients
PARAMETER_BYTES = 2

MESSAGE = Message(
    en=Words(
        "Offload of `{model}` needs {need} GiB of this machine's memory, and it has {have} GiB",
        "fp32 weights, moments and gradients of {billions} billion parameters lie in host memory, {bytes} bytes each "
        "without buffers. The kernel kills a rank, which ends with exit code -9.",
        "Use more machines, offload to NVMe, train with LoRA, or raise the container's limit.",
    ),
    zh=Words(
        "`{model}` 的卸载需要本机 {need} GiB 内存,而本机只有 {have} GiB",
        "{billions}B 参数的 fp32 权重、动量和梯度放在主机内存里,不算缓冲每个 {bytes} 字节。内核会杀死某个 rank,"
        "退出码为 -9。",
        "使用更多机器,卸载到 NVMe,用 LoRA 训练,或提高容器的内存上限。",
    ),
)


@check(PROBLEM)
def offload_larger_than_ram(model: Model, training: Training, world: World, host: Host) -> Judgement:
    """Without buffers: what it finds does not fit, what it passes may still be tight."""
    if world.backend != "deepspeed" or world.offload_optimizer != "cpu":
        return
    parameters = full_parameters(model, training)
    if parameters is None:
        return
    total = host.memory_total_bytes
    if total is None:
        yield Skip("the memory of this machine is not reported")
        return
    have = min(total, host.memory_limit_bytes or total)
    each = OPTIMIZER_BYTES + (PARAMETER_BYTES if world.offload_param == "cpu" else 0)
    need = parameters * each / (world.machines or 1)
    if need > have:
        yield found(
            PROBLEM,
            MESSAGE,
            model=model.name,
            need=gib(need),
            have=gib(have),
            bytes=each,
            billions=f"{parameters / 1e9:.1f}",
            confidence=LIKELY,
            evidence=(Evidence(model.folder, f"{parameters} parameters"), Evidence("memory", f"{gib(have)} GiB")),
        )
