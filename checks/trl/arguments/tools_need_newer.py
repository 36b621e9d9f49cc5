"""Judges tools-prerequisites (TRL040), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
SCHEMA = TOML["schema"]


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
