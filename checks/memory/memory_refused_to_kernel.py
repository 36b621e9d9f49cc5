"""A compiled kernel got no GPU memory, and its exception does not say so.

## What it means
Kernels that use torch's stable C interface (those of newer vLLM among them) allocate by `torch_call_dispatcher`.
When that fails the caller learns only that an API call failed; the reason is printed to stderr, as
`Exception in aoti_torch`.
## What it does to a run
The engine ends with a RuntimeError that reads like a mismatch of versions, often with the first long prompts.
## What to do
Leave more of the card free: a smaller share for the engine, or fewer tokens at once.
## How it is found
In a log, by torch's line on stderr (proof), or by the RuntimeError of the call that makes an empty tensor (likely).
## References
https://github.com/vllm-project/vllm/pull/33591
https://github.com/local-inference-lab/rtx6kpro/issues/96
https://github.com/pytorch/pytorch/blob/main/torch/csrc/shim_common.cpp
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM031", name="memory-refused-to-kernel", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Exception in aoti_torch: (?:CUDA|HIP|XPU) out of memory\. Tried to allocate (?P<asked>[\d.]{1,12} [KMGT]iB)"
        r"(?:[^\n]{0,80}?total capacity of (?P<total>[\d.]{1,12} [KMGT]iB))?"
        r"(?:[^\n]{0,80}?of which (?P<free>[\d.]{1,12} [KMGT]?i?B(?:ytes)?) is free)?"
    ),
    Signature(r"RuntimeError: torch_call_dispatcher\( ?\"aten::(?P<call>(?:new_)?empty\w{0,20})\""),
)

_REMEDY = (
    "Lower the engine's `gpu_memory_utilization` by some hundredths (0.95 to 0.90), or `max_num_batched_tokens` and "
    "`max_num_seqs`, and see that no other process uses the card (`nvidia-smi`)."
)
_REMEDY_ZH = (
    "把引擎的 `gpu_memory_utilization` 降低几个百分点(0.95 降到 0.90),或降低 `max_num_batched_tokens` 与 "
    "`max_num_seqs`,并确认没有其他进程占用该显卡(`nvidia-smi`)。"
)

LOG_MESSAGE = Message(
    en=Words(
        "out of memory inside a compiled kernel: {asked} more wanted{of}{free}",
        "The kernel needs a buffer while it runs, outside of what was measured at the start. The exception of the "
        "program speaks of a failed API call only; no version is wrong.",
        _REMEDY,
    ),
    zh=Words(
        "编译内核中显存不足:还需要 {asked}{of_zh}{free_zh}",
        "内核运行时需要一块缓冲区,不在启动时测得的用量之内。程序的异常只说 API 调用失败;并非版本不符。",
        _REMEDY_ZH,
    ),
)
UNSEEN = Message(
    en=Words(
        "a compiled kernel could not allocate a tensor (`aten::{call}` failed)",
        "Kernels that use torch's stable interface pass on that the call failed and not why. For an empty tensor that "
        "is nearly always GPU memory; the reason stands on stderr, as `Exception in aoti_torch`.",
        "Look for that line in the program's stderr. " + _REMEDY,
    ),
    zh=Words(
        "编译内核无法分配张量(`aten::{call}` 失败)",
        "使用 torch 稳定接口的内核只转达调用失败,不转达原因。对于空张量,几乎总是显存不足;原因在 stderr 中的 "
        "`Exception in aoti_torch` 一行。",
        "在程序的 stderr 中查找该行。" + _REMEDY_ZH,
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Proved by torch's own line; the exception alone makes it likely."""
    asked, total, free = (hits.get(each) for each in ("asked", "total", "free"))
    return found(
        PROBLEM,
        LOG_MESSAGE if asked else UNSEEN,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if asked else LIKELY,
        asked=asked or "",
        call=hits.get("call") or "",
        of=f" of {total}" if total else "",
        of_zh=f"(共 {total})" if total else "",
        free=f", {free} free" if free else "",
        free_zh=f",仅剩 {free}" if free else "",
    )
