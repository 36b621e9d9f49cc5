"""A training argument has a value that the installed Transformers does not know.

## What it means
Optimizers, schedulers, save and evaluation strategies are chosen by name from a list that grows with the
releases. The value is misspelt, or came with a newer release.
## What it does to a run
TrainingArguments raise ValueError before anything is loaded.
## What to do
Take a name from the list, or upgrade Transformers.
## How it is found
In a log: by the words of the enumeration.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
https://github.com/artidoro/qlora/issues/85
"""

from __future__ import annotations

from difflib import get_close_matches

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF031", name="argument-choice-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: (?P<value>[\w.\-]{1,60}) is not a valid (?P<kind>OptimizerNames|"
        r"SchedulerType|IntervalStrategy|SaveStrategy|EvaluationStrategy|HubStrategy|FSDPOption|"
        r"PaddingStrategy|TensorType|DebugOption|HPSearchBackend|TruncationStrategy|ExplicitEnum|"
        r"\w{1,40}Strategy|\w{1,40}Type), please select one of (?P<choices>\[[^\]\n]{1,3000}\]?)"
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "`{value}` is no {what} that the installed Transformers{version} knows",
        "It is misspelt, or came with a newer release of Transformers.",
        "Choose one of {choices}, or upgrade Transformers when the name is documented for a "
        "newer one: `pip install -U transformers` (with `accelerate`, `peft` and `bitsandbytes` "
        "of the same time).",
    ),
    zh=Words(
        "`{value}` 不是已安装的 Transformers{version} 所知的 {what_zh}",
        "拼写有误,或来自更新版本的 Transformers。",
        "从 {choices} 中选择;若该名称属于更新版本,则升级 Transformers:`pip install -U "
        "transformers`(以及同期的 `accelerate`、`peft`、`bitsandbytes`)。",
    ),
)


#: enumeration -> what it chooses
_WHAT = {"OptimizerNames": ("optimizer", "优化器"), "SchedulerType": ("scheduler", "学习率调度器")}
_MOST = 8


def explain(hits: Hits) -> Finding | None:
    """List what there is to choose from, the likeliest first."""
    value, kind = hits.get("value") or "", hits.get("kind") or ""
    choices = [each.strip("' ") for each in (hits.get("choices") or "").strip("[]").split(",")]
    near = get_close_matches(value, choices, _MOST, 0.3) or choices[:_MOST]
    what, what_zh = _WHAT.get(kind, ("choice", "取值"))
    installed = hits.versions.get("transformers")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), value=value, what=what, what_zh=what_zh,
        choices=", ".join(f"`{each}`" for each in near), version=f" {installed}" if installed else "",
    )  # fmt: skip
