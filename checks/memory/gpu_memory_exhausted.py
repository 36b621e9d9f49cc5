"""The GPU memory ran out in a phase that the log does not tell.

## What it means
No traceback, or one of the user's own frames only, stands before the message.
## What it does to a run
The process ends.
## What to do
Find out what filled the card: this process, or another one.
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

PROBLEM = Problem(id="MEM016", name="gpu-memory-exhausted", severity=ERROR, since="0.1")

SIGNATURES = (Signature(OUT_OF_MEMORY, symptom_of=("VLL070",)),)

LOG_MESSAGE = Message(
    en=Words(
        "out of GPU memory: {asked} more wanted{of}{free}",
        "The log does not show in which phase. Where the process holds far less than the card has, "
        "another process fills the rest.",
        "Compare what this process held with the size of the card and look at `nvidia-smi`. {knobs} "
        "For an engine on the same GPU lower `gpu_memory_utilization`.",
    ),
    zh=Words(
        "显存不足:还需要 {asked}{of_zh}{free_zh}",
        "日志没有显示处于哪个阶段。若该进程占用远小于显卡容量,则其余部分被其他进程占用。",
        "把该进程占用与显卡容量相比较,并查看 `nvidia-smi`。{knobs_zh}若同一 GPU 上有推理引擎,请降低 "
        "`gpu_memory_utilization`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Only where the frames tell this phase."""
    return finding(PROBLEM, LOG_MESSAGE, hits) if told(hits, "") else None
