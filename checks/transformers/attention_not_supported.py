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

import re

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
        r"^KeyError: '(?P<kind>(?!attention_)\w{0,40}attention(?:_\d)?|sdpa|eager|flex)'",
        frame=r"modeling_\w{1,60}\.py:__init__$",
    ),
    Signature(
        r"ValueError: Specified `attn_implementation=\"(?P<unknown>[^\"\n]{1,120})\"` is not supported\. "
        r"The only possible arguments are (?P<choices>[^\n]{1,900})"
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

UNKNOWN = Message(
    en=Words(
        "Transformers knows no attention called `{unknown}`",
        "The name is misspelt, belongs to a kernel that is not installed, or to a newer release.",
        'Write one of {choices} as `attn_implementation`: mostly `"flash_attention_2"` (with flash-attn installed), '
        '`"sdpa"` or `"eager"`.',
    ),
    zh=Words(
        "Transformers 不认识名为 `{unknown}` 的注意力实现",
        "名称拼写有误、属于未安装的内核,或属于更新的版本。",
        '把 `attn_implementation` 写成 {choices} 之一:多为 `"flash_attention_2"`(需安装 flash-attn)、`"sdpa"` 或 '
        '`"eager"`。',
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Shorten torch's long name."""
    if unknown := hits.get("unknown"):
        names = dict.fromkeys(
            re.findall(r"\b(?:paged\|)?(?:eager|sdpa|flash_attention_\d|flex_attention)\b", hits.get("choices") or "")
        )
        return found(
            PROBLEM, UNKNOWN, where=hits.where(), evidence=hits.evidence(), unknown=unknown,
            choices=", ".join(f"`{each}`" for each in names) or "the names that the message lists",
        )  # fmt: skip
    kind = (hits.get("kind") or "").rpartition(" through ")[2]
    kind = "SDPA" if "scaled_dot" in kind else "flex attention" if "flex" in kind else kind
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind,
        model=hits.get("model") or "model",
    )  # fmt: skip
