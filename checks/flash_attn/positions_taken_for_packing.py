"""Transformers hands flash-attn lengths of sequences that are not those of the batch.

## What it means
flash-attn's function for packed sequences takes where each begins (`cu_seqlens`). Transformers computes that from the
attention mask or from `position_ids`. A mask of four dimensions, positions of three (multi-dimensional rotary
embeddings, Qwen3.5 in 5.3.0), or positions that do not begin at 0 are read as something else.
## What it does to a run
RuntimeError about the shape of `cu_seqlens_q`, or the kernel reads past its tensors: an illegal memory access.
## What to do
Another attention implementation, or a release of Transformers in which the model hands on what is expected.
## How it is found
In a log: by flash-attn's refusal, or by the memory error with Transformers' call of the packed function.
## References
https://github.com/huggingface/transformers/issues/44643
https://github.com/Dao-AILab/flash-attention/issues/2381
https://github.com/huggingface/transformers/issues/39608
https://github.com/huggingface/transformers/issues/39814
https://github.com/modelscope/ms-swift/issues/2542
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="FLA010", name="positions-taken-for-packing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: max\(\): Expected reduction dim to be specified for input\.numel\(\) == 0",
        frame=r"modeling_flash_attention_utils\.py:_?prepare_\w{0,40}pos\w{0,20}$",
    ),
    Signature(r"RuntimeError: cu_seqlens_(?P<side>[qk]) must have shape \(batch_size \+ 1\)"),
    Signature(
        r"CUDA error: an illegal memory access was encountered",
        frame=r"modeling_flash_attention_utils\.py:_flash_attention_forward$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "flash-attn was handed lengths of sequences that do not fit the batch",
        "Transformers makes them from the attention mask or the position ids{of}: a mask of four dimensions, "
        "positions of several dimensions (multi-dimensional rotary embeddings), or a cache of another length are "
        "read as packed sequences.",
        'Load the model with `attn_implementation="sdpa"` (ms-swift: `--attn_impl sdpa`); that settles whether it '
        "is this. To keep flash-attn: upgrade Transformers, hand a mask of two dimensions (no 4D mask, no packing "
        "by hand), leave `position_ids` out, and turn packing or `padding_free` off.",
    ),
    zh=Words(
        "交给 flash-attn 的序列长度与批次不符",
        "Transformers 从注意力掩码或 position ids 计算它们{of_zh}:四维掩码、多维位置(多维旋转位置编码)或长度不同的缓存"
        "会被当成打包序列。",
        '用 `attn_implementation="sdpa"` 加载模型(ms-swift:`--attn_impl sdpa`),即可确认是否为此问题。若要保留 '
        "flash-attn:升级 Transformers,传入二维掩码(不要 4D 掩码,不要手工打包),不传 `position_ids`,并关闭 packing 或 "
        "`padding_free`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A memory error counts only where Transformers called the function for packed sequences."""
    packed = [hit for hit in hits.of(2) if any(re.search(r":\w{0,20}varlen_func$", frame) for frame in hit.frames)]
    if not hits.of(0) and not hits.of(1) and not packed:
        return None
    frames = hits.first.frames
    model = next((m[1] for frame in frames if (m := re.search(r"modeling_(\w{2,40})\.py:forward$", frame))), None)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        of=f" (here of `{model}`)" if model else "", of_zh=f"(此处为 `{model}`)" if model else "",
    )  # fmt: skip
