"""The GPU memory ran out while the model was loaded.

## What it means
The weights of a model take 2 bytes per parameter in 16 bit; a model of 12 billion parameters needs 24 GB before
anything else.
## What it does to a run
It ends before a cache, an optimizer or a batch exists. Context length and batch size have no influence.
## What to do
Fewer bytes per weight, more GPUs for the weights, or an emptier GPU.
## How it is found
The exception of torch's allocator, and the phase that its traceback tells.
## References
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from doctor.checks.memory._oom import OUT_OF_MEMORY, finding, told
from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM012", name="model-load-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory while the model's weights were loaded: {asked} more wanted{of}{free}",
        "The weights themselves do not fit: 16 bit takes 2 bytes per parameter. No cache, batch or "
        "context length is involved yet. Where much of the card belongs to another process, that one "
        "is to blame.",
        "Use a quantized checkpoint (4 bit, fp8, AWQ) or a smaller model, spread the weights "
        "(`tensor_parallel_size`, FSDP, ZeRO-3) or offload them to the CPU; check `nvidia-smi` for "
        "other processes on the card.",
    ),
    zh=Words(
        "加载模型权重时显存不足:还需要 {asked}{of_zh}{free_zh}",
        "放不下的是权重本身:16 位每个参数占 2 字节,此时尚未涉及缓存、批次或上下文长度。若显存大部分属"
        "于其他进程,则原因在于该进程。",
        "使用量化检查点(4 bit、fp8、AWQ)或更小的模型,用 `tensor_parallel_size`、FSDP、ZeRO-3 分摊权重"
        ",或卸载到 CPU;用 `nvidia-smi` 检查卡上的其他进程。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits) if told(hits, "load") else None
