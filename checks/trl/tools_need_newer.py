"""Tools or environments in GRPO lack what they need.

## What it means
Tool calls are rendered and parsed through the chat template: that takes a recent Transformers, jmespath in
between, and a template that renders tool calls and keeps earlier turns as they were.
## What it does to a run
The trainer raises when it is built, or at the first multi-turn rollout.
## What to do
Upgrade Transformers, install jmespath, and use a template with tools.
## How it is found
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRL040", name="tools-prerequisites", severity=ERROR, since="0.1", affects={"trl": ">=0.26"})

SIGNATURES = (
    Signature(
        r"ImportError: Using (?:tools|`environment_factory`) with GRPOTrainer requires transformers"
        r" version (?P<minimum>[\d.]{1,8})",
    ),
    Signature(
        r"ImportError: Using tools with GRPOTrainer [^\n]{0,80}requires the (?P<package>jmespath) library",
    ),
    Signature(
        r"ValueError: The (?:provided )?chat template (?:does not support tool calling|is not"
        r" prefix-preserving)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "GRPO with tools needs {needs}",
        "Tool calls are rendered and parsed through the chat template of the model, with functions of a "
        "recent Transformers.",
        "{fix}",
    ),
    zh=Words(
        "带工具的 GRPO 需要 {needs_zh}",
        "工具调用通过模型的聊天模板渲染和解析,并使用较新 Transformers 的功能。",
        "{fix_zh}",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say which of the prerequisites is missing."""
    minimum, package = hits.get("minimum"), hits.get("package")
    if minimum:
        needs = needs_zh = f"Transformers {minimum.rstrip('.')}"
        fix = f'Upgrade: `pip install -U "transformers>={minimum.rstrip(".")}"`.'
        fix_zh = f'升级:`pip install -U "transformers>={minimum.rstrip(".")}"`。'
    elif package:
        needs = needs_zh = f"`{package}`"
        fix, fix_zh = f"Install it: `pip install {package}`.", f"安装:`pip install {package}`。"
    else:
        needs, needs_zh = "a chat template that renders tool calls", "能渲染工具调用的聊天模板"
        fix = "Use the instruct variant of a model with tool calling (Qwen3 ...), or set such a `chat_template`."
        fix_zh = "使用支持工具调用的 instruct 模型(Qwen3 等),或设置这样的 `chat_template`。"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        needs=needs,
        needs_zh=needs_zh,
        fix=fix,
        fix_zh=fix_zh,
    )
