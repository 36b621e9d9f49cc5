"""A Triton kernel needs more shared memory than a block may have on this GPU.

## What it means
Kernels are tuned with block sizes for one card. Consumer cards and older ones have less shared memory per
block (99 KiB on RTX 30, 40 and 50) than an A100 (163) or H100 (227).
## What it does to a run
The kernel is refused when it is first started.
## What to do
Use smaller blocks, or a library that has a configuration for this card.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/triton-lang/triton/blob/main/python/triton/runtime/errors.py
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#features-and-technical-specifications-technical-specifications-per-compute-capability
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR021", name="triton-out-of-shared", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"out of resource: shared memory, Required: (?P<need>\d{1,9}), Hardware limit: (?P<limit>\d{1,9})"
        r"(?![^\n]{0,200} for benchmark choice)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a Triton kernel wants {need} bytes of shared memory; this GPU gives a block {limit}",
        "This is not GPU memory running out: shared memory is a small store on the chip, and the "
        "kernel's block sizes were tuned for a data-centre card. Wide heads (256 and more) and fp32 make "
        "it worse.",
        "Upgrade the library whose kernel it is (Liger, flash-linear-attention, vLLM, Unsloth): newer "
        'ones check the card. Else use another implementation (`attn_implementation="sdpa"`, '
        "`use_liger_kernel=False`), bf16 instead of fp32, or a card with more.",
    ),
    zh=Words(
        "某个 Triton 内核需要 {need} 字节共享内存;此 GPU 每个 block 只有 {limit}",
        "这不是显存不足:共享内存是芯片上的小容量存储,而内核的块大小是为数据中心显卡调优的。较宽的头(256 "
        "及以上)和 fp32 会更严重。",
        "升级该内核所属的库(Liger、flash-linear-attention、vLLM、Unsloth):新版本会检查显卡。否则换用其他"
        '实现(`attn_implementation="sdpa"`、`use_liger_kernel=False`),用 bf16 代替 fp32,或换共享内存更大'
        "的显卡。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A tuner of block sizes logs those that do not fit, and takes others: only an exception proves anything."""
    raised = any(hit.frames or "OutOfResources" in hit.text for hit in hits)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED if raised else LIKELY,
        need=hits.get("need"), limit=hits.get("limit"),
    )  # fmt: skip
