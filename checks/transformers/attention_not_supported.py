"""The model does not have the attention implementation that was asked for.

## What it means
`attn_implementation` (or the older `use_flash_attention_2`) names Flash Attention, SDPA or flex attention,
and this architecture, in this release, has no such variant.
## What it does to a run
Loading the model raises ValueError.
## What to do
Ask for one that it has.
## How it is found
In a log: by Transformers' exception.
## References
https://huggingface.co/docs/transformers/attention_interface
https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/modeling_utils.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF028", name="attention-implementation-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: (?P<model>\w{1,80}) does not support (?P<kind>Flash Attention \d(?:\.\d)?|"
        r"an attention implementation through torch\.nn\.functional\.scaled_dot_product_attention|"
        r"an attention implementation through torch's flex_attention) ?(?:yet)?"
    ),
    Signature(r"ValueError: The current architecture does not support (?P<kind>Flash Attention \d(?:\.\d)?)"),
    Signature(
        r"^KeyError: '(?P<kind>\w{0,40}attention\w{0,20}|sdpa|eager|flex)'", frame=r"modeling_\w{1,60}\.py:__init__$"
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "`{model}` has no `{kind}` variant of its attention",
        "The architecture, in the installed Transformers, does not implement what `attn_implementation` asks for.",
        'Load with `attn_implementation="eager"` (or `"sdpa"` instead of `"flash_attention_2"`), or upgrade '
        "Transformers, which adds variants with each release. A name that belongs to a fork or plugin "
        "(`sequence_parallel_attention`) needs the Transformers that this fork was made for, or the option that "
        "asks for it taken out.",
    ),
    zh=Words(
        "`{model}` 没有 `{kind}` 形式的注意力实现",
        "该架构在已安装的 Transformers 中没有实现 `attn_implementation` 所要求的方式。",
        '用 `attn_implementation="eager"` 加载(或用 `"sdpa"` 代替 `"flash_attention_2"`),或升级 Transformers,新版本'
        "会增加支持。属于某个分支或插件的名称(如 `sequence_parallel_attention`)需要该分支所针对的 Transformers,或去"
        "掉要求它的选项。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Shorten torch's long name."""
    kind = (hits.get("kind") or "").rpartition(" through ")[2]
    kind = "SDPA" if "scaled_dot" in kind else "flex attention" if "flex" in kind else kind
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind,
        model=hits.get("model") or "model",
    )  # fmt: skip
