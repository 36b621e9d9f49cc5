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
    Signature(r"ValueError: (?P<schema>Unrecognized chat template), failed to add response schema"),
    Signature(
        r"ValueError: Response parsing for this chat template is only provided [^\n]{0,80}requires transformers >= "
        r"(?P<minimum>[\d.]{1,8})",
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


SCHEMA = Message(
    en=Words(
        "TRL does not know how answers of this chat template call tools",
        "It picks the parser of tool calls by comparing the template, letter by letter, with those it brings along. "
        "Copies of a model (Unsloth's, quantized ones), templates that were edited, and models newer than the TRL "
        "match none.",
        "Take the template of the original repository: `tokenizer.chat_template = "
        'AutoTokenizer.from_pretrained("ORIGINAL_MODEL").chat_template`, before the trainer is made. If that one is '
        "unknown, too: `pip install -U trl`, or set `tokenizer.response_schema` yourself (TRL's "
        "`chat_template_utils.py` has those of Qwen3 and others to start from).",
    ),
    zh=Words(
        "TRL 不知道该聊天模板的回答如何调用工具",
        "它把模板与自带的模板逐字比较,以选择工具调用的解析器。模型的副本(Unsloth 的、量化的)、修改过的模板以及比 TRL "
        "更新的模型都匹配不上。",
        "使用原始仓库的模板:在创建训练器之前 `tokenizer.chat_template = "
        'AutoTokenizer.from_pretrained("ORIGINAL_MODEL").chat_template`。如果仍不认识:`pip install -U trl`,或自行设置 '
        "`tokenizer.response_schema`(可参照 TRL 的 `chat_template_utils.py` 中 Qwen3 等的写法)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say which of the prerequisites is missing."""
    if hits.first.groups.get("schema"):
        return found(PROBLEM, SCHEMA, where=hits.where(), evidence=hits.evidence())
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
