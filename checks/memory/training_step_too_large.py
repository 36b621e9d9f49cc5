"""The GPU memory ran out in a forward or backward pass of the training.

## What it means
Weights, gradients and optimizer states fitted; the activations of one micro batch did not fit on top. They grow
with micro batch times sequence length.
## What it does to a run
The step that has the longest sequences fails, often minutes into the run.
## What to do
Smaller micro batches with more accumulation, activation checkpointing, shorter completions; shard the states with
FSDP or ZeRO.
## How it is found
The exception of torch's allocator, and the phase that its traceback tells.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, finding, told
from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM006", name="training-step-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory in the training step: {asked} more wanted{of}{free}",
        "Activations of one micro batch did not fit beside weights, gradients and optimizer states. "
        "They grow with micro batch size times sequence length, so the longest completions decide.",
        "{knobs} If states fill the card, shard them (ZeRO-3, FSDP) or offload; with vLLM on the "
        "same GPU lower its `gpu_memory_utilization` and use sleep mode. "
        "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` helps against fragmentation only.",
    ),
    zh=Words(
        "训练步中显存不足:还需要 {asked}{of_zh}{free_zh}",
        "一个 micro batch 的激活无法与权重、梯度和优化器状态同时放下。激活随 micro batch 与序列长度之"
        "积增长,因此由最长的回复决定。",
        "{knobs_zh}若状态占满显存,请用 ZeRO-3 或 FSDP 切分,或卸载到主机;若 vLLM 在同一 GPU 上,请降低"
        "其 `gpu_memory_utilization` 并使用睡眠模式。"
        "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` 只缓解碎片。",
    ),
)

#: the frames show a model's forward pass and nothing that trains: an evaluation or a program of the user's may run it
FORWARD = Message(
    en=Words(
        "out of memory in a forward pass: {asked} more wanted{of}{free}",
        "Activations of one batch did not fit beside what the card already held. They grow with batch "
        "size times sequence length. The traceback does not show whether this was training.",
        "In training: {knobs} Where the model is only evaluated, use smaller batches and "
        "`torch.inference_mode()`. Look at `nvidia-smi` for other processes on the card.",
    ),
    zh=Words(
        "前向计算中显存不足:还需要 {asked}{of_zh}{free_zh}",
        "一个批次的激活无法与显卡上已有的内容同时放下。激活随批大小与序列长度之积增长。从调用栈看不出这是否是训练。",
        "训练时:{knobs_zh}若只是评估模型,请减小批次并使用 `torch.inference_mode()`。用 `nvidia-smi` "
        "查看显卡上是否有其他进程。",
    ),
)

#: a reward model beside the trainer has no activations to keep, and no gradients
REWARD = Message(
    en=Words(
        "out of memory while rewards were computed: {asked} more wanted{of}{free}",
        "A reward model or another judge shares the GPU with what is trained, and its batch did not fit beside "
        "weights, optimizer states and, where the engine is colocated, vLLM's cache.",
        "Score in smaller batches and under `torch.inference_mode()`, load the judge in bf16 or quantized, or put it "
        "on another GPU or behind a server of its own. With vLLM on the same GPU lower its `gpu_memory_utilization`.",
    ),
    zh=Words(
        "计算奖励时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "奖励模型或其他评判模型与训练共用 GPU,其批次无法与权重、优化器状态以及(引擎共置时)vLLM 的缓存同时放下。",
        "以更小的批次并在 `torch.inference_mode()` 下打分,以 bf16 或量化方式加载评判模型,或把它放到另一张 GPU 或单独的"
        "服务上。若 vLLM 在同一 GPU 上,请降低其 `gpu_memory_utilization`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    if told(hits, "step", "backward"):
        return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED)
    if told(hits, "reward"):
        return finding(PROBLEM, REWARD, hits, CONFIRMED)
    return finding(PROBLEM, FORWARD, hits) if told(hits, "forward") else None
