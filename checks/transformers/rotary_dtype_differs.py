"""Queries and rotary tables have different dtypes where flash-attn's rotary kernel wants one.

## What it means
flash-attn's `apply_rotary` multiplies queries and keys with tables of cosines and sines, and asserts that all have one
dtype. Transformers 4.49 cast the queries of Qwen2.5-VL to float32 there and left the tables in bf16; 4.50 casts both.
Elsewhere the model itself mixes dtypes: loaded in float16 with tables in bf16, or the other way round.
## What it does to a run
AssertionError in the first forward pass.
## What to do
Upgrade Transformers, or load the whole model in the dtype of the training.
## How it is found
In a log: by the words of the assertion, which name both dtypes, and the frames below it.
## References
https://github.com/huggingface/transformers/pull/36188
https://github.com/huggingface/transformers/issues/36257
https://github.com/om-ai-lab/VLM-R1/issues/331
https://github.com/QwenLM/Qwen3-VL/issues/802
https://github.com/hiyouga/LLaMA-Factory/issues/7663
https://github.com/hiyouga/LLaMA-Factory/issues/1477
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF072", name="rotary-dtype-differs", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AssertionError: Input and cos/sin must have the same dtype, got torch\.(?P<given>\w{4,12}) and "
        r"torch\.(?P<tables>\w{4,12})"
    ),
)

CAST = Message(
    en=Words(
        "Transformers gives flash-attn's rotary kernel {given} queries beside {tables} tables",
        "The vision part of the model casts the queries and not the tables of cosines and sines. Transformers 4.49 "
        "does so for Qwen2.5-VL; it was mended in 4.50. Qwen2.5-Omni, and models that bring their own code, had the "
        "same mistake for longer.",
        'Upgrade: `pip install -U "transformers>=4.50"` (a project that pins 4.49 works with 4.50.0, too). Where the '
        'model brings its own code, or the version must stay: `attn_implementation="sdpa"` does without this kernel '
        "(LLaMA-Factory: `flash_attn: sdpa`; ms-swift: `--attn_impl sdpa`).",
    ),
    zh=Words(
        "Transformers 交给 flash-attn 旋转编码内核的查询是 {given},而 cos/sin 表是 {tables}",
        "模型的视觉部分只转换了查询,没有转换 cos/sin 表。Transformers 4.49 的 Qwen2.5-VL 即是如此,4.50 已修复。"
        "Qwen2.5-Omni 以及自带代码的模型同样的缺陷存在得更久。",
        '升级:`pip install -U "transformers>=4.50"`(固定 4.49 的项目用 4.50.0 也可运行)。若模型自带代码或版本不能动:'
        '`attn_implementation="sdpa"` 不使用该内核(LLaMA-Factory:`flash_attn: sdpa`;ms-swift:`--attn_impl sdpa`)。',
    ),
)
LOG_MESSAGE = Message(
    en=Words(
        "flash-attn's rotary kernel got {given} queries and {tables} tables",
        "The model runs in one half precision, and its tables of cosines and sines were made in another: the weights "
        "were loaded in one dtype and mixed precision was set to the other, or to none.",
        "Let one dtype rule: `bf16: true` (`--bf16`) with `torch_dtype=torch.bfloat16`, or `fp16: true` with float16; "
        'see `torch_dtype` in the model\'s config.json. `attn_implementation="sdpa"` does without this kernel.',
    ),
    zh=Words(
        "flash-attn 的旋转编码内核得到 {given} 的查询和 {tables} 的 cos/sin 表",
        "模型以一种半精度运行,而其 cos/sin 表以另一种精度生成:权重以一种 dtype 加载,而混合精度设为另一种,或没有设置。",
        "只用一种 dtype:`bf16: true`(`--bf16`)配 `torch_dtype=torch.bfloat16`,或 `fp16: true` 配 float16;查看模型 "
        'config.json 中的 `torch_dtype`。`attn_implementation="sdpa"` 不使用该内核。',
    ),
)

MESSAGES = (LOG_MESSAGE, CAST)


def explain(hits: Hits) -> Finding:
    """Only float32 beside a half precision is the cast of a release; two halves are the user's settings."""
    given, tables = (hits.first.groups[name] for name in ("given", "tables"))
    return found(
        PROBLEM, CAST if given == "float32" else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, given=given, tables=tables,
    )  # fmt: skip
