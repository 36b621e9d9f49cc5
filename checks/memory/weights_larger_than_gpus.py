"""The weights alone do not fit into the GPUs of this run.

## What it means
The model's parameters in half precision need more memory than the GPU that is to hold them all, or, where they are
divided over the ranks, than all GPUs together.
## What it does to a run
`CUDA out of memory` while the model is loaded.
## What to do
Divide the weights over more GPUs (ZeRO-3, FSDP), offload parameters, quantize for LoRA, or take larger cards.
## How it is found
Number of parameters from the model's files times two bytes, against the memory that NVML reports.
## References
https://www.deepspeed.ai/tutorials/zero/
https://huggingface.co/docs/transformers/model_memory_anatomy
"""

from __future__ import annotations

from doctor.checks.memory._helpers import HALF_BYTES, full_parameters, gib, gpus_of_ranks
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="MEM001", name="weights-larger-than-gpus", severity=ERROR, since="0.1")

WHOLE = Message(
    en=Words(
        "`{model}` needs {need} GiB for its weights, and {gpu} has {have} GiB",
        "Every rank holds all weights, {billions} billion parameters of two bytes at the least, so loading ends with "
        "`CUDA out of memory`.",
        "Divide the weights over the GPUs with ZeRO-3 or FSDP, train a quantized model with LoRA, or take "
        "larger cards.",
    ),
    zh=Words(
        "`{model}` 的权重需要 {need} GiB,而 {gpu} 只有 {have} GiB",
        "每个 rank 都要装下全部权重,{billions}B 参数每个至少两个字节,加载时就会 `CUDA out of memory`。",
        "用 ZeRO-3 或 FSDP 把权重切分到各 GPU,用 LoRA 训练量化模型,或换更大的显卡。",
    ),
)
DIVIDED = Message(
    en=Words(
        "`{model}` needs {need} GiB for its weights, and the run's GPUs together have {have} GiB",
        "Even divided over all ranks the weights, {billions} billion parameters of two bytes at the least, do not fit.",
        "Use more GPUs, offload parameters to the CPU, or train a quantized model with LoRA.",
    ),
    zh=Words(
        "`{model}` 的权重需要 {need} GiB,而本次运行的全部 GPU 合计只有 {have} GiB",
        "即使切分到所有 rank,{billions}B 参数每个至少两个字节,也装不下。",
        "使用更多 GPU,把参数卸载到 CPU,或用 LoRA 训练量化模型。",
    ),
)


@check(PROBLEM)
def weights_larger_than_gpus(model: Model, training: Training, world: World, gpus: Gpus) -> Judgement:
    """Machines are taken to be alike."""
    parameters, used = full_parameters(model, training), gpus_of_ranks(world, gpus)
    if parameters is not None and world.order_uncertain:
        yield Skip("CUDA may number these GPUs of different models in another order")
        return
    if parameters is None or not used or world.offload_param != "none":
        return
    need = parameters * HALF_BYTES
    divided = world.backend == "fsdp" or (world.backend == "deepspeed" and world.zero_stage == 3)
    smallest = min(used, key=lambda gpu: gpu.memory_total_bytes or 0)
    machines = world.machines or 1
    if divided:
        have = sum(gpu.memory_total_bytes or 0 for gpu in used) * machines
    elif world.backend in {"none", "multi_gpu"} or (world.backend == "deepspeed" and world.zero_stage in {0, 1, 2}):
        have = smallest.memory_total_bytes or 0
    else:
        return
    if need > have:
        yield found(
            PROBLEM,
            DIVIDED if divided else WHOLE,
            model=model.name,
            need=gib(need),
            have=gib(have),
            gpu=smallest.label,
            billions=f"{parameters / 1e9:.1f}",
            evidence=(Evidence(model.folder, f"{parameters} parameters"),),
        )
