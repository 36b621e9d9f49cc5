"""An argument that came to Transformers after the installed release.

## What it means
The script was written for a newer Transformers than the one that is installed.
## What it does to a run
The class raises `TypeError: __init__() got an unexpected keyword argument`, or the parser refuses it.
Nothing is trained.
## What to do
Install a release that has the argument, or take it out.
## How it is found
The names that script, YAML and command line set are compared with the history of `TrainingArguments`.
In a log: by the argument that the exception names, looked up in the history of the class.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
https://github.com/huggingface/transformers/releases
"""

from __future__ import annotations

from doctor import data
from doctor.checks.transformers._owners import inherits_training_arguments, own_to_trl
from doctor.checks.trl._arguments import came_later, history_of, own_settings
from doctor.checks.trl._helpers import installed, quoted
from doctor.checks.trl._logged import refusals
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRF003",
    name="training-argument-too-new",
    severity=ERROR,
    since="0.1",
    affects={"transformers": ">=4.37"},
)

SIGNATURES = (
    Signature(
        r"TypeError: (?:(?P<owner>[A-Z]\w{0,60})\.)?__init__\(\) got an unexpected keyword argument"
        r" '(?P<name>\w{1,80})'",
    ),
    Signature(
        r"ValueError: Some (?:specified arguments|keys) are not used by the HfArgumentParser:"
        r" \[(?P<names>[^\]\n]{1,600})\]",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}` was passed to {owner}, whose installed release is older than it",
        "The argument came to the class with Transformers {first}; the installed release does not know "
        "it yet and stops before anything is loaded.",
        "Upgrade Transformers to {first} or newer, or take `{name}` out.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`,而已安装的版本比该参数更旧",
        "该参数随 Transformers {first} 加入此类;已安装的版本还不认识它,在加载任何东西之前就停止。",
        "将 Transformers 升级到 {first} 或更新版本,或删除 `{name}`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` came to `TrainingArguments` in Transformers {first}; {version} is installed",
        "The installed class does not know the argument and raises an error about it before anything is loaded.",
        "Install Transformers {first} or newer, or take `{name}` out.",
    ),
    zh=Words(
        "`{name}` 自 Transformers {first} 起才属于 `TrainingArguments`;当前安装的是 {version}",
        "已安装的类不认识此参数,在加载任何东西之前就会报错。",
        "安装 Transformers {first} 或更新版本,或删除 `{name}`。",
    ),
)


@check(PROBLEM)
def argument_not_yet(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of TrainingArguments."""
    owner, version, trl = training.config_class, installed(packages, "transformers"), installed(packages, "trl")
    if not inherits_training_arguments(owner, trl):
        return
    for named in own_settings(training, launch):
        history = data.training_argument(named.setting.name)
        if history is None or own_to_trl(owner, named.setting.name, trl) or not came_later(history, version):
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(named.setting),
            evidence=(*quoted(named.setting), *history_of("Transformers", history)),
            commands=(f'pip install "transformers>={history.first}"',),
            confidence=named.confidence,
            name=named.setting.name,
            first=history.first,
            version=version,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "not-yet" or each.package != "transformers":
            continue
        assert each.history is not None  # noqa: S101
        return found(
            PROBLEM,
            LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"pip install -U 'transformers>={each.history.first}'",),
            confidence=each.confidence,
            name=each.name,
            owner=f"`{each.owner}`" if each.owner else "the arguments",
            first=each.history.first,
        )
    return None
