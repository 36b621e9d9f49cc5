"""An Ascend NPU has no memory left for what was asked.

## What it means
torch_npu's allocator asked the NPU for more and got nothing: weights, gradients, optimizer states, activations and the
KV cache of an engine on the same card share its memory.
## What it does to a run
The process ends; the others wait for it in HCCL until their time-out.
## What to do
Less per NPU and step, a smaller share for the engine, or less fragmentation.
## How it is found
In a log: by torch_npu's message, with its sizes.
## References
https://github.com/vllm-project/vllm-ascend/issues/5020
https://github.com/vllm-project/vllm-ascend/pull/786
https://docs.vllm.ai/projects/ascend/en/latest/faqs.html
"""

from __future__ import annotations

from doctor.checks.memory._oom import training_knobs
from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM026", name="npu-memory-exhausted", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:OutOfMemoryError|RuntimeError): NPU out of memory\. Tried to allocate (?P<asked>[\d.]{1,1"
        r"2} [KMGT]iB) \(NPU (?P<npu>\d{1,3}); (?P<total>[\d.]{1,12} [KMGT]iB) total capacity; (?P<hel"
        r"d>[\d.]{1,12} [KMGT]iB) already allocated;[^\n]{0,60}?(?P<free>[\d.]{1,12} [KMGT]?i?B(?:ytes"
        r")?) free;",
    ),
    Signature(r"^EL0004: Failed to allocate memory|\bEL0004: \[PID"),
    Signature(
        r"rtMalloc execute failed, reason=\[driver error:out of memory\]"
        r"|Call rtMalloc fail, purpose: [^\n,]{1,60}, type = \d{1,4}, size: ?"
        r"(?P<bytes>\d{1,15}), device_id: ?(?P<device>\d{1,3})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "out of NPU memory: {asked} more wanted of {total}, {free} free",
        "NPU {npu} is full; this process holds {held} of it as tensors. What is neither free nor held is "
        "another process's (an engine beside the trainer), HCCL's buffers, or fragments.",
        "{knobs} For vLLM-Ascend on the same NPU lower `gpu_memory_utilization`, for SGLang `--mem-fraction-static`. "
        "Against fragments: `export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True` (not with sleep mode). `npu-smi "
        "info` shows who holds the rest; `export HCCL_BUFFSIZE=100` makes HCCL's buffers smaller (200 MB for each "
        "communication group by default).",
    ),
    zh=Words(
        "NPU 内存不足:还需要 {asked},总共 {total},剩余 {free}",
        "NPU {npu} 已满;本进程以张量占用 {held}。既不空闲也不属于它的部分,是另一个进程(与训练同卡的引擎)"
        "、HCCL 缓冲区或碎片。",
        "{knobs_zh}若同一 NPU 上有 vLLM-Ascend,请降低 `gpu_memory_utilization`,SGLang 则降低 `--mem-fraction-static`。"
        "针对碎片:`export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True`(不可与睡眠模式同用)。`npu-smi info` 显示其"
        "余内存归谁;`export HCCL_BUFFSIZE=100` 可减小 HCCL 缓冲区(默认每个通信域 200 MB)。",
    ),
)


OF_CANN = Message(
    en=Words(
        "out of NPU memory: Ascend's runtime could not allocate{asked}",
        "The memory of the NPU is full. Ascend reports it late, so the traceback ends where the result was waited for, "
        "often in a collective.",
        "{knobs} `npu-smi info` shows who else holds memory on this NPU; against fragments `export "
        "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True`; `export HCCL_BUFFSIZE=100` makes the buffers of HCCL "
        "smaller. `ASCEND_LAUNCH_BLOCKING=1` shows the line that asked.",
    ),
    zh=Words(
        "NPU 内存不足:昇腾运行时无法分配{asked}",
        "NPU 内存已满。昇腾延迟上报,回溯停在等待结果之处,常常是某个集合通信。",
        "{knobs_zh}`npu-smi info` 显示该 NPU 上还有谁占用内存;针对碎片 `export "
        "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True`;`export HCCL_BUFFSIZE=100` 可减小 HCCL 缓冲区。"
        "`ASCEND_LAUNCH_BLOCKING=1` 可显示申请内存的那一行。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With torch's own sizes, or those of Ascend's runtime, and the settings of the framework that runs."""
    english, chinese = training_knobs(hits)
    if not hits.of(0):
        size = hits.get("bytes")
        asked = f" {int(size) / 2**30:.1f} GiB" if size else ""
        return found(
            PROBLEM, OF_CANN, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, asked=asked,
            knobs=english, knobs_zh=chinese,
        )  # fmt: skip
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        knobs=english,
        knobs_zh=chinese,
        asked=hits.get("asked"),
        npu=hits.get("npu"),
        total=hits.get("total"),
        held=hits.get("held"),
        free=hits.get("free"),
    )
