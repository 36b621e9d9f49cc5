"""An argument that the installed Transformers still takes and will remove.

## What it means
Transformers announces the removal of a field of `TrainingArguments` ahead with a FutureWarning.
## What it does to a run
The run works. After a later upgrade of Transformers the same command fails with an error about an
unexpected argument.
## What to do
Use what replaces it now.
## How it is found
The names that script, YAML and command line set are compared with the history of `TrainingArguments`; those
that the TRL class sets itself are left out.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
https://github.com/huggingface/transformers/blob/v5.0.0/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

from doctor import data
from doctor.checks.transformers._owners import inherits_training_arguments, own_to_trl
from doctor.checks.trl._arguments import history_of, own_settings, replacement_name, takes_same_value
from doctor.checks.trl._helpers import installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.reading import place_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRF002",
    name="training-argument-deprecated",
    severity=INFO,
    since="0.1",
    ends_run=False,
    affects={"transformers": ">=4.37"},
)

MESSAGE = Message(
    en=Words(
        "`{name}` is deprecated in the installed Transformers {version}",
        "The run works, and a later release of Transformers refuses the argument.",
        "Take `{name}` out before the next upgrade of Transformers.",
    ),
    zh=Words(
        "`{name}` 在已安装的 Transformers {version} 中已弃用",
        "本次运行可以工作,但之后的 Transformers 版本会拒绝该参数。",
        "在下次升级 Transformers 之前删除 `{name}`。",
    ),
)

MESSAGE_RENAMED = Message(
    en=Words(
        "`{name}` is deprecated in Transformers {version} for `{new}`",
        "The run works, and a later release of Transformers refuses the old argument.",
        "Use `{new}` instead of `{name}`.",
    ),
    zh=Words(
        "`{name}` 在 Transformers {version} 中已弃用,由 `{new}` 取代",
        "本次运行可以工作,但之后的 Transformers 版本会拒绝旧参数。",
        "用 `{new}` 代替 `{name}`。",
    ),
)


@check(PROBLEM)
def argument_deprecated(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Report an argument only where it does something: set to other than None or False."""
    owner, version, trl = training.config_class, installed(packages, "transformers"), installed(packages, "trl")
    if not inherits_training_arguments(owner, trl):
        return
    for named in own_settings(training, launch):
        setting = named.setting
        history = data.training_argument(setting.name)
        if history is None or own_to_trl(owner, setting.name, trl):
            continue
        if not (history.exists_in(version) and history.deprecated_at(version)):
            continue
        if setting.known and setting.value in (None, False):
            continue
        new = replacement_name(history)
        successor = data.training_argument(new) if new else None
        known = successor is not None and successor.exists_in(version) is True
        same_value = known and takes_same_value(history, setting.name)
        yield found(
            PROBLEM,
            MESSAGE_RENAMED if new else MESSAGE,
            where=place_of(setting),
            evidence=(*quoted(setting), *history_of("Transformers", history)),
            commands=(f"{new}={setting.text}",) if same_value else (),
            confidence=named.confidence,
            name=setting.name,
            version=version,
            new=new,
        )
