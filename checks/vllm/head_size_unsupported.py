"""No attention kernel of vLLM takes the head size of the model.

## What it means
Attention kernels are compiled for a list of head sizes (64, 80, 96, 128 ...), and which list depends on the
backend. Tiny test models and unusual architectures have others.
## What it does to a run
The engine ends while it builds the model, or at the first request.
## What to do
Choose a backend that has the size, or a model with a usual one.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/design/attention_backends/
https://github.com/vllm-project/vllm/blob/v0.8.5.post1/vllm/v1/attention/backends/flash_attn.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL031", name="vllm-head-size-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Head size (?P<size>\d{1,5}) is not supported by (?P<backend>\w{1,40})\. Supported head"
        r" sizes are: \[(?P<sizes>[\d, ]{1,200})\]",
    ),
    Signature(r"failed to dispatch head_dim (?P<size>\d{1,5})", frame=r"flashinfer|sglang|vllm"),
    Signature(r"Unsupported CPU attention configuration: head_dim=(?P<size>\d{1,5})\b"),
    Signature(
        r"No valid attention backend found for (?P<device>\w{1,20}) with"
        r" \w{1,40}\([^\n]{0,40}head_size=(?P<size>\d{1,5}),[^\n]{0,600}\bhead_size not supported",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no attention kernel of {backend} takes heads of size {size}",
        "The head size is `head_dim` of the model's config.json, or hidden size by number of heads. "
        "Kernels exist for a fixed list{sizes}; a made-up test model or a rare architecture falls "
        "outside.",
        "Choose another backend (`--attention-backend TRITON_ATTN` or FLEX_ATTENTION, VLLM_ATTENTION_BACKEND before "
        "0.15; SGLang: `--attention-backend triton`), a newer vLLM, or a model with a usual size such as 64 or 128; "
        "give a tiny test model fewer heads.",
    ),
    zh=Words(
        "{backend} 没有支持大小为 {size} 的注意力头的内核",
        "头大小即模型 config.json 中的 `head_dim`,或隐藏维度除以头数。内核只支持固定的一组大小{sizes};自"
        "造的测试模型或少见的架构会超出范围。",
        "换一个后端(`--attention-backend TRITON_ATTN` 或 FLEX_ATTENTION;0.15 之前用 "
        "VLLM_ATTENTION_BACKEND;SGLang 为 `--attention-backend triton`)、更新的 vLLM,或头大小"
        "常见(如 64、128)的模型;自造的小模型请减少头数。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Newer releases do not tell the sizes that there are."""
    sizes, device = hits.get("sizes"), hits.get("device")
    flashinfer = any("flashinfer" in frame for frame in hits.first.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        size=hits.get("size"),
        backend=hits.get("backend") or ("FlashInfer" if flashinfer else "vLLM on " + (device or "this CPU")),
        sizes=f" ({sizes})" if sizes else "",
    )
