"""An argument that the installed TRL has removed.

## What it means
TRL renames and removes arguments of its configuration classes between releases; the script was written for
an older one.
## What it does to a run
The class raises `TypeError: __init__() got an unexpected keyword argument`, or TRL's parser refuses it.
Nothing is trained.
## What to do
Use what replaces it, or install a release that still has it.
## How it is found
The names that script, YAML and command line set are compared with the history of the class over all TRL
releases.
In a log: by the argument that the exception names, looked up in the history of the class.
## References
https://github.com/huggingface/trl/releases
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._arguments import history_of, left_before, left_in, own_settings, replacement_name
from doctor.checks.trl._helpers import installed, quoted
from doctor.checks.trl._logged import Refusal, refusals
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL002", name="trl-argument-removed", severity=ERROR, since="0.1", affects={"trl": ">=0.7"})

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
        "`{name}` was passed to {owner}; TRL removed it in {gone}",
        "The installed TRL is {gone} or newer, where the class no longer takes `{name}`, so the script "
        "stops before anything is loaded.",
        "Take `{name}` out of the script or configuration, or install an older release: TRL {last} is "
        "the last one that has it.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`;TRL 已在 {gone} 中将其移除",
        "当前安装的 TRL 为 {gone} 或更新版本,该类不再接受 `{name}`,脚本在加载任何东西之前就停止。",
        "从脚本或配置中删除 `{name}`,或安装旧版本:TRL {last} 是最后一个仍有它的版本。",
    ),
)

LOG_MESSAGE_RENAMED = Message(
    en=Words(
        "`{name}` was passed to {owner}; since TRL {gone} it is `{new}`",
        "TRL {gone} removed the old argument in favour of `{new}`. The script stops before anything is loaded.",
        "Replace `{name}` with `{new}` in the script or configuration; TRL {last} is the last release "
        "that takes the old name.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`;自 TRL {gone} 起应使用 `{new}`",
        "TRL {gone} 移除了旧参数,改用 `{new}`。脚本在加载任何东西之前就停止。",
        "在脚本或配置中用 `{new}` 代替 `{name}`;TRL {last} 是最后一个接受旧名称的版本。",
    ),
)

LOG_MESSAGE_MOVED = Message(
    en=Words(
        "`{name}` was passed to {owner}; since TRL {gone} it belongs to the configuration",
        "The trainer lost the argument to its configuration class: it is `{home}` now. The trainer stops "
        "before the first step.",
        "Move it to the configuration, `{home}`, or install TRL {last}, the last release whose trainer takes `{name}`.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`;自 TRL {gone} 起它属于配置类",
        "该参数已从训练器移到配置类,现在是 `{home}`。训练器在第一步之前就停止。",
        "把它移到配置中:`{home}`;或安装 TRL {last},即训练器最后一个接受 `{name}` 的版本。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` left `{owner}` in TRL {gone}; {version} is installed",
        "The class no longer takes the argument and raises an error about it before anything is loaded.",
        "Take `{name}` out. TRL {last} is the last release that has it.",
    ),
    zh=Words(
        "`{name}` 已在 TRL {gone} 中从 `{owner}` 移除;当前安装的是 {version}",
        "该类不再接受此参数,在加载任何东西之前就会报错。",
        "删除 `{name}`。最后一个仍有它的版本是 TRL {last}。",
    ),
)

MESSAGE_RENAMED = Message(
    en=Words(
        "`{name}` left `{owner}` in TRL {gone}; it is `{new}` in {version}",
        "The class no longer takes the old name and raises an error about it before anything is loaded.",
        "Write `{new}` instead of `{name}`.",
    ),
    zh=Words(
        "`{name}` 已在 TRL {gone} 中从 `{owner}` 移除;在 {version} 中名为 `{new}`",
        "该类不再接受旧名称,在加载任何东西之前就会报错。",
        "把 `{name}` 改写为 `{new}`。",
    ),
)


@check(PROBLEM)
def argument_removed(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of the class."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None:
        return
    for named in own_settings(training, launch):
        history = data.trl_argument(owner, named.setting.name)
        if history is None or history.inherited or not left_before(history, version):
            continue
        new = replacement_name(history)
        yield found(
            PROBLEM,
            MESSAGE_RENAMED if new else MESSAGE,
            where=place_of(named.setting),
            evidence=(*quoted(named.setting), *history_of("TRL", history)),
            commands=(f"{new}={named.setting.text}",) if new else (),
            confidence=named.confidence,
            name=named.setting.name,
            owner=owner,
            gone=left_in(history),
            last=history.last,
            version=version,
            new=new,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "removed" or each.package != "trl":
            continue
        assert each.history is not None  # noqa: S101
        home = _moved_to(each)
        return found(
            PROBLEM,
            LOG_MESSAGE_MOVED if home else LOG_MESSAGE_RENAMED if each.new else LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"{home}",) if home else (f"{each.new}=...",) if each.new else (),
            confidence=each.confidence,
            name=each.name,
            owner=f"`{each.owner}`" if each.owner else "the arguments",
            gone=each.gone,
            last=each.history.last,
            new=each.new,
            home=home,
        )
    return None


def _moved_to(refusal: Refusal) -> str | None:
    """Say where a trainer's argument lives now: ``SFTConfig(max_length=...)``."""
    if refusal.owner not in data.trl_trainers():
        return None
    config = refusal.owner.removesuffix("Trainer") + "Config"
    history = data.trl_argument(config, refusal.name)
    if history is None:
        return None
    name = refusal.name if history.last is None else replacement_name(history)
    return f"{config}({name}=...)" if name else None
