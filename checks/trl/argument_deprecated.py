"""An argument that the installed TRL still takes and will remove.

## What it means
TRL announces the removal of an argument some releases ahead with a FutureWarning.
## What it does to a run
The run works. After the next upgrade of TRL the same command fails with an error about an unexpected
argument.
## What to do
Use what replaces it now.
## How it is found
The names that script, YAML and command line set are compared with the history of the class over all TRL
releases.
## References
https://github.com/huggingface/trl/releases
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._arguments import history_of, own_settings, replacement_name
from doctor.checks.trl._helpers import installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.reading import place_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL004", name="trl-argument-deprecated", severity=INFO, since="0.1", ends_run=False, affects={"trl": ">=0.7"}
)

MESSAGE = Message(
    en=Words(
        "`{name}` of `{owner}` is deprecated in the installed TRL {version}",
        "The run works, and a later release of TRL refuses the argument.",
        "Take `{name}` out before the next upgrade of TRL.",
    ),
    zh=Words(
        "`{owner}` 的 `{name}` 在已安装的 TRL {version} 中已弃用",
        "本次运行可以工作,但之后的 TRL 版本会拒绝该参数。",
        "在下次升级 TRL 之前删除 `{name}`。",
    ),
)

MESSAGE_RENAMED = Message(
    en=Words(
        "`{name}` of `{owner}` is deprecated in TRL {version} for `{new}`",
        "The run works, and a later release of TRL refuses the old name.",
        "Write `{new}` instead of `{name}`.",
    ),
    zh=Words(
        "`{owner}` 的 `{name}` 在 TRL {version} 中已弃用,由 `{new}` 取代",
        "本次运行可以工作,但之后的 TRL 版本会拒绝旧名称。",
        "把 `{name}` 改写为 `{new}`。",
    ),
)


@check(PROBLEM)
def argument_deprecated(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Report an argument only where it does something: set to other than None."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None:
        return
    for named in own_settings(training, launch):
        setting = named.setting
        history = data.trl_argument(owner, setting.name)
        if history is None or not (history.exists_in(version) and history.deprecated_at(version)):
            continue
        if setting.known and setting.value in (None, False):
            continue
        new = replacement_name(history)
        successor = data.trl_argument(owner, new) if new else None
        if successor is not None and not successor.inherited and not successor.exists_in(version):
            new = None
        yield found(
            PROBLEM,
            MESSAGE_RENAMED if new else MESSAGE,
            where=place_of(setting),
            evidence=(*quoted(setting), *history_of("TRL", history)),
            commands=(f"{new}={setting.text}",) if new else (),
            confidence=named.confidence,
            name=setting.name,
            owner=owner,
            version=version,
            new=new,
        )
