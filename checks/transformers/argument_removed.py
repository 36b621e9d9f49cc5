"""An argument that the installed Transformers has removed.

## What it means
Transformers renames and removes fields of `TrainingArguments`; TRL's configuration classes inherit them.
`evaluation_strategy` became `eval_strategy`, and version 5 removed many more.
## What it does to a run
The class raises `TypeError: __init__() got an unexpected keyword argument`, or the parser refuses it.
Nothing is trained.
## What to do
Use what replaces it, or install a release that still has it.
## How it is found
The names that script, YAML and command line set are compared with the history of `TrainingArguments` over
all releases.
In a log: by the argument that the exception names, looked up in the history of the class.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
https://github.com/huggingface/transformers/blob/v5.0.0/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

from doctor import data
from doctor.checks.transformers._owners import inherits_training_arguments, own_to_trl
from doctor.checks.trl._arguments import (
    history_of,
    left_before,
    left_in,
    own_settings,
    replacement_name,
    takes_same_value,
)
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
    id="TRF001",
    name="training-argument-removed",
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
        "`{name}` was passed to {owner}; Transformers removed it in {gone}",
        "The installed Transformers is {gone} or newer, where the class no longer takes `{name}`, so the "
        "script stops before anything is loaded.",
        "Take `{name}` out of the script or configuration, or install an older release: Transformers "
        "{last} is the last one that has it.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`;Transformers 已在 {gone} 中将其移除",
        "当前安装的 Transformers 为 {gone} 或更新版本,该类不再接受 `{name}`,脚本在加载任何东西之前就停止。",
        "从脚本或配置中删除 `{name}`,或安装旧版本:Transformers {last} 是最后一个仍有它的版本。",
    ),
)

LOG_MESSAGE_RENAMED = Message(
    en=Words(
        "`{name}` was passed to {owner}; since Transformers {gone} it is `{new}`",
        "Transformers {gone} removed the old argument in favour of `{new}`. The script stops before "
        "anything is loaded.",
        "Replace `{name}` with `{new}` in the script or configuration; Transformers {last} is the last "
        "release that takes the old name.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`;自 Transformers {gone} 起应使用 `{new}`",
        "Transformers {gone} 移除了旧参数,改用 `{new}`。脚本在加载任何东西之前就停止。",
        "在脚本或配置中用 `{new}` 代替 `{name}`;Transformers {last} 是最后一个接受旧名称的版本。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` left `TrainingArguments` in Transformers {gone}; {version} is installed",
        "The class no longer takes the argument and raises an error about it before anything is loaded.",
        "Take `{name}` out. Transformers {last} is the last release that has it.",
    ),
    zh=Words(
        "`{name}` 已在 Transformers {gone} 中从 `TrainingArguments` 移除;当前安装的是 {version}",
        "该类不再接受此参数,在加载任何东西之前就会报错。",
        "删除 `{name}`。最后一个仍有它的版本是 Transformers {last}。",
    ),
)

MESSAGE_RENAMED = Message(
    en=Words(
        "`{name}` left `TrainingArguments` in Transformers {gone}; see `{new}`",
        "The class of the installed {version} no longer takes the old argument and raises an error about "
        "it before anything is loaded.",
        "Use `{new}` instead of `{name}`.",
    ),
    zh=Words(
        "`{name}` 已在 Transformers {gone} 中从 `TrainingArguments` 移除;请见 `{new}`",
        "已安装的 {version} 中该类不再接受旧参数,在加载任何东西之前就会报错。",
        "用 `{new}` 代替 `{name}`。",
    ),
)


@check(PROBLEM)
def argument_removed(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of TrainingArguments."""
    owner, version, trl = training.config_class, installed(packages, "transformers"), installed(packages, "trl")
    if not inherits_training_arguments(owner, trl):
        return
    for named in own_settings(training, launch):
        history = data.training_argument(named.setting.name)
        if history is None or own_to_trl(owner, named.setting.name, trl) or not left_before(history, version):
            continue
        new = replacement_name(history)
        same_value = takes_same_value(history, named.setting.name)
        yield found(
            PROBLEM,
            MESSAGE_RENAMED if new else MESSAGE,
            where=place_of(named.setting),
            evidence=(*quoted(named.setting), *history_of("Transformers", history)),
            commands=(f"{new}={named.setting.text}",) if same_value else (),
            confidence=named.confidence,
            name=named.setting.name,
            gone=left_in(history),
            last=history.last,
            version=version,
            new=new,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "removed" or each.package != "transformers":
            continue
        assert each.history is not None  # noqa: S101
        return found(
            PROBLEM,
            LOG_MESSAGE_RENAMED if each.new else LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"{each.new}=...",) if each.new else (),
            confidence=each.confidence,
            name=each.name,
            owner=f"`{each.owner}`" if each.owner else "the arguments",
            gone=each.gone,
            last=each.history.last,
            new=each.new,
        )
    return None
