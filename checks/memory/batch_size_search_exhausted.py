"""The search for a batch size that fits went down to zero.

## What it means
`auto_find_batch_size` (Transformers) and `find_executable_batch_size` (Accelerate) run the training again with a
smaller batch after each "out of memory", a tenth less each time. Even one sequence did not fit.
## What it does to a run
It ends with a RuntimeError that says nothing of the memory; each try before it had started over.
## What to do
Make one sequence fit: shorter sequences, gradient checkpointing, LoRA or sharded states, a free GPU.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/memory.py
https://github.com/huggingface/accelerate/issues/1934
https://github.com/charent/ChatLM-mini-Chinese/issues/40
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="MEM024", name="batch-size-search-exhausted", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"RuntimeError: No executable batch size found, reached zero"),)

LOG_MESSAGE = Message(
    en=Words(
        "the search for a batch size reached zero: not one sequence fits into memory",
        "`auto_find_batch_size` runs the training again with a tenth less after each out of memory. What fills the "
        "memory is there at a batch of one too: weights and optimizer states, one very long sequence, or another "
        "process on the GPU.",
        "Look at `nvidia-smi` for other processes first. Then limit the length (`max_length`, "
        "`max_completion_length`), turn on `gradient_checkpointing=True`, train with LoRA or shard the states (ZeRO 3, "
        "FSDP), and start with a batch of your own instead of the search: it starts the training over at each try.",
    ),
    zh=Words(
        "批大小搜索降到零:连一条序列也放不进显存",
        "`auto_find_batch_size` 每次显存不足后都会把批大小减少一成并重新训练。批大小为 1 时占满显存的是权重与优化器"
        "状态、一条特别长的序列,或该 GPU 上的其他进程。",
        "先用 `nvidia-smi` 检查其他进程。然后限制长度(`max_length`、`max_completion_length`),开启 "
        "`gradient_checkpointing=True`,使用 LoRA 或切分状态(ZeRO 3、FSDP),并直接指定批大小而非搜索:每次尝试都会"
        "从头开始训练。",
    ),
)
