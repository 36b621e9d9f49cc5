"""The driver refuses to map the memory of a vLLM that can sleep.

## What it means
With sleep mode, vLLM maps GPU memory itself (`cumem_allocator`). "invalid argument" there comes from a version that
asks the driver for an attribute it does not know, from a block that is mapped already, or after an out of memory.
## What it does to a run
The engine does not start with sleep mode, or does not wake up after a training step.
## What to do
Upgrade vLLM; until then run without sleep mode, or with the server on GPUs of its own.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/35612
https://github.com/vllm-project/vllm/pull/35594
https://github.com/vllm-project/vllm/issues/36651
https://github.com/modelscope/ms-swift/issues/9613
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL070", name="cumem-mapping-refused", severity=ERROR, since="0.1")

#: line numbers below 100 are those of the releases of early 2025, where this follows an out of memory (VLL054)
SIGNATURES = (
    Signature(
        r"CUDA Error: invalid argument at \S{0,200}cumem_allocator\.cpp:(?P<line>[1-9]\d{2,3})\b",
        symptom_of=("VLL054",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the driver refused to map memory for vLLM's sleep mode (cumem_allocator)",
        "With sleep mode vLLM maps its GPU memory itself. Releases of early 2026 ask the driver for an attribute in "
        "a way that some drivers answer with `invalid argument`; others map a block twice after an earlier failure.",
        "Upgrade vLLM (a release after March 2026 has the first repaired). Until then run without sleep mode "
        "(`vllm_enable_sleep_mode=False`, without `--enable-sleep-mode`), or with the vLLM server on GPUs of its own.",
    ),
    zh=Words(
        "驱动拒绝为 vLLM 的睡眠模式映射显存(cumem_allocator)",
        "在睡眠模式下 vLLM 自行映射显存。2026 年初的版本查询驱动属性的方式会使某些驱动返回 `invalid argument`;"
        "另一些情况是先前失败后重复映射同一块显存。",
        "升级 vLLM(2026 年 3 月之后的版本已修复前者)。"
        "在此之前关闭睡眠模式(`vllm_enable_sleep_mode=False`,去掉 "
        "`--enable-sleep-mode`),或让 vLLM 服务使用独立的 GPU。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Likely: the same words come from several mistakes of the allocator."""
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
