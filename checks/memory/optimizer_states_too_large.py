"""The GPU memory ran out when the optimizer made its states.

## What it means
Adam keeps two float32 numbers per trained parameter, and makes them in its first step.
## What it does to a run
Forward and backward of step 1 work, the optimizer step does not.
## What to do
Shard or offload the states, an 8-bit optimizer, or LoRA.
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

PROBLEM = Problem(id="MEM008", name="optimizer-states-too-large", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY),)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory in the optimizer step: {asked} more wanted{of}{free}",
        "Adam makes two float32 states per trained parameter in its first step, 8 bytes each on top "
        "of weights and gradients. A smaller batch hardly changes that.",
        "Shard the optimizer states (`zero_optimization.stage` 2 or 3, FSDP `FULL_SHARD`), offload "
        "them (`offload_optimizer`, in veRL `fsdp_config.optimizer_offload=True`), use "
        '`optim="adamw_8bit"`, or train LoRA adapters.',
    ),
    zh=Words(
        "优化器步中显存不足:还需要 {asked}{of_zh}{free_zh}",
        "Adam 在第一步为每个被训练的参数创建两份 float32 状态,即在权重与梯度之外再加 8 字节。减小 batch 几乎无济于事。",
        "切分优化器状态(`zero_optimization.stage` 设为 2 或 3,或 FSDP `FULL_SHARD`)、卸载"
        "(`offload_optimizer`,veRL 中 `fsdp_config.optimizer_offload=True`)、使用 "
        '`optim="adamw_8bit"`,或训练 LoRA。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits, CONFIRMED) if told(hits, "optimizer") else None
