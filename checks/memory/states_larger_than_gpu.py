"""Weights, gradients and optimizer states do not fit into a GPU of this run.

## What it means
Full training with AdamW holds, beside the weights, gradients and two moments for each parameter. With this
configuration their least size is more than a GPU has, before a single activation or token is stored; a colocated
vLLM takes its share besides.
## What it does to a run
`CUDA out of memory` at the first backward pass or optimizer step, after the model was loaded and completions were made.
## What to do
Divide the states over the ranks (ZeRO-2 or 3, FSDP), offload the optimizer, use LoRA or an 8-bit optimizer, give
vLLM less, or take more or larger cards.
## How it is found
Parameters of the model's files times the least number of bytes for this backend and stage, against NVML.
## References
https://www.deepspeed.ai/tutorials/zero/
https://arxiv.org/abs/1910.02054
https://huggingface.co/docs/transformers/model_memory_anatomy
"""

from __future__ import annotations

from doctor.checks.launch._helpers import effective
from doctor.checks.memory._helpers import adam, full_parameters, gib, gpus_of_ranks, states_bytes
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import truth
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="MEM002", name="states-larger-than-gpu", severity=ERROR, since="0.1")

ALONE = Message(
    en=Words(
        "Training `{model}` needs {need} GiB a GPU before activations, and {gpu} has {have} GiB",
        "Weights, gradients and AdamW's states of {billions} billion parameters do not fit with this configuration: "
        "the run ends with `CUDA out of memory` at the first step.",
        "Divide the states over the ranks (ZeRO-2 or 3, FSDP), offload the optimizer, or use LoRA.",
    ),
    zh=Words(
        "训练 `{model}` 每张 GPU 在激活值之外就需要 {need} GiB,而 {gpu} 只有 {have} GiB",
        "按此配置,{billions}B 参数的权重、梯度和 AdamW 状态装不下:第一步就会 `CUDA out of memory`。",
        "把状态切分到各 rank(ZeRO-2 或 3、FSDP),卸载优化器,或使用 LoRA。",
    ),
)
BESIDE = Message(
    en=Words(
        "Training needs {need} GiB of {gpu}, vLLM takes {share} GiB, and it has {have} GiB",
        "vLLM runs inside the trainer and keeps its share (`vllm_gpu_memory_utilization` {utilization}) while weights, "
        "gradients and AdamW's states of {billions} billion parameters need the rest: it ends with "
        "`CUDA out of memory`.",
        "Lower `vllm_gpu_memory_utilization`, turn `vllm_enable_sleep_mode` on, or divide the states over the ranks.",
    ),
    zh=Words(
        "训练需要 {gpu} 的 {need} GiB,vLLM 占 {share} GiB,而它只有 {have} GiB",
        "vLLM 运行在训练进程内并保留自己的份额(`vllm_gpu_memory_utilization` 为 {utilization}),{billions}B 参数的权重、"
        "梯度和 AdamW 状态还需要其余部分:会以 `CUDA out of memory` 结束。",
        "调低 `vllm_gpu_memory_utilization`,打开 `vllm_enable_sleep_mode`,或把状态切分到各 rank。",
    ),
)


def _colocated(training: Training, packages: Packages | None) -> float | None:
    """Share of the GPU that vLLM keeps during the step, None where it runs elsewhere or sleeps."""
    mode = effective(training, packages, "vllm_mode")
    if not training.value("use_vllm") or mode is None or mode.value != "colocate":
        return None
    sleeping = training.get("vllm_enable_sleep_mode")
    if sleeping is not None and (not sleeping.known or truth(sleeping.value)):
        return None
    share = effective(training, packages, "vllm_gpu_memory_utilization")
    try:
        return float(str(share.value)) if share is not None else None
    except ValueError:
        return None


@check(PROBLEM, requires=("MEM001",))
def states_larger_than_gpu(
    model: Model, training: Training, world: World, gpus: Gpus, packages: Packages | None
) -> Judgement:
    """A lower bound, so what it finds does not fit; layers that a script freezes would lower it."""
    parameters, used = full_parameters(model, training), gpus_of_ranks(world, gpus)
    if parameters is not None and world.order_uncertain:
        yield Skip("CUDA may number these GPUs of different models in another order")
        return
    if parameters is None or not used or not adam(training, packages):
        return
    need = states_bytes(parameters, world)
    if need is None:
        return
    smallest = min(used, key=lambda gpu: gpu.memory_total_bytes or 0)
    have = smallest.memory_total_bytes or 0
    utilization = _colocated(training, packages)
    share = (utilization or 0) * have
    if need + share <= have:
        return
    yield found(
        PROBLEM,
        ALONE if need > have else BESIDE,
        model=model.name,
        need=gib(need),
        have=gib(have),
        share=gib(share),
        utilization=utilization,
        gpu=smallest.label,
        billions=f"{parameters / 1e9:.1f}",
        confidence=LIKELY,
        evidence=(Evidence(model.folder, f"{parameters} parameters"),),
    )
