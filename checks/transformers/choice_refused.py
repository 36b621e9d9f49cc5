"""A training argument has a value that the installed Transformers does not know.

## What it means
Optimizers, schedulers, save and evaluation strategies are chosen by name from a list that grows with the
releases. The value is misspelt, or came with a newer release. `eval_strategy: no` in YAML is no word at all: YAML reads
`no` as False.
## What it does to a run
TrainingArguments raise ValueError before anything is loaded.
## What to do
Take a name from the list, or upgrade Transformers.
## How it is found
Before launch, by the enumerations in the sources of the installed Transformers. In a log: by the words of the
enumeration.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
https://github.com/artidoro/qlora/issues/85
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/training_args.py
https://yaml.org/type/bool.html
"""

from __future__ import annotations

from difflib import get_close_matches

from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.base import Setting
from doctor.facts.choices import Choices
from doctor.facts.packages import Packages
from doctor.facts.training import Training

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


MESSAGE = Message(
    en=Words(
        "`{name}={value}` is none of the values of Transformers {version}",
        "The training arguments raise ValueError when they are made, on every process. The list is read from the "
        "installed Transformers.",
        "Write one of {known}.",
    ),
    zh=Words(
        "`{name}={value}` 不是 Transformers {version} 接受的取值",
        "创建训练参数时每个进程都会抛出 ValueError。可选值读自已安装的 Transformers。",
        "改为 {known} 之一。",
    ),
)

UNQUOTED = Message(
    en=Words(
        "`{name}: no` without quotes is False for YAML, and Transformers wants the word",
        "The training arguments raise ValueError, `False is not a valid` strategy, when they are made.",
        'Quote it: `{name}: "no"`.',
    ),
    zh=Words(
        "`{name}: no` 未加引号,YAML 读作 False,而 Transformers 需要单词 no",
        "创建训练参数时抛出 ValueError:`False is not a valid` 加策略名。",
        '加上引号:`{name}: "no"`。',
    ),
)

#: argument -> enumerations that decide, newest first
ENUMERATIONS = {
    "optim": ("transformers.OptimizerNames",),
    "lr_scheduler_type": ("transformers.SchedulerType",),
    "eval_strategy": ("transformers.IntervalStrategy",),
    "evaluation_strategy": ("transformers.IntervalStrategy",),
    "logging_strategy": ("transformers.IntervalStrategy",),
    "save_strategy": ("transformers.SaveStrategy", "transformers.IntervalStrategy"),
    "hub_strategy": ("transformers.HubStrategy",),
}


@check(PROBLEM)
def choice_refused(training: Training, packages: Packages, choices: Choices) -> Judgement:
    """Judge what is said when the arguments are made; a class of the user's may translate its own words first."""
    origin = training.config_origin
    certain = not origin or origin.startswith(("trl.", "transformers."))
    for name, kinds in ENUMERATIONS.items():
        setting, known = training.get(name), choices.of(*kinds)
        if setting is None or not setting.known or not known or name in training.set_later | training.shared:
            continue
        if not isinstance(setting.value, (str, bool)) or setting.value in known or "$" in str(setting.value):
            continue
        yield _refused(setting, name, known, packages.version("transformers") or "", certain=certain)


def _refused(setting: Setting, name: str, known: tuple[str, ...], version: str, *, certain: bool) -> Finding:
    near = get_close_matches(str(setting.value), known, 3, 0.5) or list(known[:_MOST])
    unquoted = setting.value is False and "no" in known
    return found(
        PROBLEM, UNQUOTED if unquoted else MESSAGE, where=place_of(setting), evidence=quoted(setting), name=name,
        commands=(f'{name}: "no"',) if unquoted else tuple(f'{name}="{each}"' for each in near[:3]),
        value=setting.text or setting.value, version=version, known=", ".join(f"`{each}`" for each in near),
        confidence=CONFIRMED if certain else LIKELY,
    )  # fmt: skip


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
