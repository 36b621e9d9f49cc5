"""Two vLLM engines that can sleep are made in one process.

## What it means
With sleep mode vLLM keeps its memory in an allocator of its own, of which a process has one. A second engine in the
same process finds it in use.
## What it does to a run
The second engine ends while it loads its weights.
## What to do
One engine a process, or sleep mode for one of them only.
## How it is found
In a log, by the assertion of vLLM's worker.
## References
https://docs.vllm.ai/en/latest/features/sleep_mode.html
https://github.com/vllm-project/vllm/blob/v0.8.4/vllm/worker/worker.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL078", name="sleeping-engine-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: (?:Sleep mode|CuMem allocator) can only be used for one instance per proce"
        r"ss",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "a second vLLM engine with sleep mode was made in the same process",
        "The allocator that lets an engine sleep exists once a process and already holds the memory of "
        "another engine: a teacher or judge beside the policy, an engine that a notebook cell made before, or"
        " one that was deleted without its memory being given back.",
        "Make the second engine in a process of its own (a server: `trl vllm-serve` or `vllm serve`; an actor"
        " of Ray), or turn sleep mode off for it (`enable_sleep_mode=False`; TRL: "
        "`vllm_enable_sleep_mode=False`). In a notebook restart the kernel before the engine is made again.",
    ),
    zh=Words(
        "同一进程中创建了第二个启用睡眠模式的 vLLM 引擎",
        "支持引擎睡眠的分配器每个进程只有一个,且已持有另一引擎的显存:策略之外的教师或评判模型、notebo"
        "ok 单元先前创建的引擎,或已删除但显存未归还的引擎。",
        "在独立进程中创建第二个引擎(服务器:`trl vllm-serve` 或 `vllm serve`;或 Ray actor),或对它关闭"
        "睡眠模式(`enable_sleep_mode=False`;TRL:`vllm_enable_sleep_mode=False`)。在 notebook 中重新创"
        "建前先重启内核。",
    ),
)
