"""The Liger kernels are asked for where the trainer or the model has no use for them.

## What it means
Liger replaces parts of a model's forward pass, or the loss. A trainer or a model that replaces the same part itself
refuses to work with it.
## What it does to a run
The trainer raises ValueError before the first step.
## What to do
Take the option out, or only that part of Liger's configuration that is refused.
## How it is found
In a log: by the exception.
## References
https://huggingface.co/docs/trl/liger_kernel_integration
https://github.com/axolotl-ai-cloud/axolotl/blob/main/src/axolotl/integrations/liger/plugin.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL050", name="liger-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Liger is not supported (?:for|in|with) (?P<what>[\w`'\-./ ]{1,60}\w`?)"),
    Signature(r"ValueError: `liger_kernel_config=\{\"(?P<key>\w{1,60})\": True\}` is not supported"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Liger kernels do not work with {what}",
        "The trainer or its model replaces the part of the forward pass that Liger would replace.",
        "Take Liger out: `use_liger_kernel=False` (older: `use_liger_loss=False`, axolotl: the `liger_*` options).",
    ),
    zh=Words(
        "Liger 内核不适用于 {what}",
        "训练器或其模型自己替换了 Liger 要替换的那部分前向计算。",
        "去掉 Liger:`use_liger_kernel=False`(旧版为 `use_liger_loss=False`,axolotl 为 `liger_*` 选项)。",
    ),
)

PART = Message(
    en=Words(
        "this trainer refuses `{key}` of the Liger kernels",
        "It replaces the model's forward pass with one of its own there; Liger's would undo that.",
        "Take `{key}` out of `liger_kernel_config`; the other kernels may stay.",
    ),
    zh=Words(
        "该训练器不接受 Liger 内核的 `{key}`",
        "训练器在这里用自己的前向计算替换了模型的;Liger 会使其失效。",
        "从 `liger_kernel_config` 中去掉 `{key}`;其余内核可以保留。",
    ),
)


def explain(hits: Hits) -> Finding:
    """All of Liger is refused, or one of its parts."""
    key, what = hits.get("key"), hits.get("what")
    message = LOG_MESSAGE if what else PART
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), key=key or "?",
        what=(what or "").strip(" .`'"),
    )  # fmt: skip
