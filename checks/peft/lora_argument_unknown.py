"""`LoraConfig` is given an argument that the installed PEFT does not have.

## What it means
A typing error, an argument of a newer PEFT, or one of another class.
## What it does to a run
`LoraConfig` raises `TypeError: __init__() got an unexpected keyword argument`. Nothing is trained.
## What to do
Correct the name, or install a PEFT that has it.
## How it is found
The keywords of the call in the script are compared with the fields of the class in the installed release
and in all others.
In a log: by the exception of `LoraConfig`.
## References
https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig
https://github.com/huggingface/peft/releases
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._arguments import came_later, near
from doctor.checks.trl._helpers import installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="PFT001", name="lora-argument-unknown", severity=ERROR, since="0.1", affects={"peft": ">=0.8"})

SIGNATURES = (
    Signature(r"TypeError: LoraConfig\.__init__\(\) got an unexpected keyword argument '(?P<name>\w{1,60})'"),
    Signature(
        r"TypeError: __init__\(\) got an unexpected keyword argument '(?P<name>\w{1,60})'",
        frame=r"/peft/config\.py:",
    ),
)

LOG_MESSAGE_LATER = Message(
    en=Words(
        "`LoraConfig` of the installed PEFT does not know `{name}`, which came with {first}",
        "The argument stands in the script, or in the `adapter_config.json` of an adapter that a newer PEFT saved.",
        'Upgrade: `pip install -U "peft>={first}"`, or delete `{name}` from the script or from `adapter_config.json`.',
    ),
    zh=Words(
        "已安装的 PEFT 的 `LoraConfig` 不认识 {first} 才引入的 `{name}`",
        "该参数出现在脚本中,或出现在由更新的 PEFT 保存的适配器的 `adapter_config.json` 中。",
        '升级:`pip install -U "peft>={first}"`,或从脚本或 `adapter_config.json` 中删除 `{name}`。',
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`LoraConfig` does not know the argument `{name}`",
        "No release of PEFT up to {newest} that the doctor knows has it: it is misspelt, belongs to "
        "another class, or comes from an `adapter_config.json` that a still newer PEFT saved.",
        "Take `{name}` out, or upgrade with `pip install -U peft` if an adapter from elsewhere is loaded.",
    ),
    zh=Words(
        "`LoraConfig` 不认识参数 `{name}`",
        "据诊断程序所知,直到 {newest} 的 PEFT 版本都没有它:拼写有误、属于其他类,或来自更新的 PEFT 保存的 "
        "`adapter_config.json`。",
        "删除 `{name}`;若加载的是外来的适配器,用 `pip install -U peft` 升级。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` is no argument of `LoraConfig` in PEFT {version}",
        "The class raises a TypeError about an unexpected keyword argument.",
        "Take `{name}` out.",
    ),
    zh=Words(
        "`{name}` 不是 PEFT {version} 中 `LoraConfig` 的参数",
        "该类会因意外的关键字参数而抛出 TypeError。",
        "删除 `{name}`。",
    ),
)

MESSAGE_NEAR = Message(
    en=Words(
        "`{name}` is no argument of `LoraConfig` in PEFT {version}; `{near}` is",
        "The class raises a TypeError about an unexpected keyword argument.",
        "Write `{near}` if that is what is meant, else take the argument out.",
    ),
    zh=Words(
        "`{name}` 不是 PEFT {version} 中 `LoraConfig` 的参数,相近的是 `{near}`",
        "该类会因意外的关键字参数而抛出 TypeError。",
        "如果本意如此,请写成 `{near}`;否则删除该参数。",
    ),
)

LATER = Message(
    en=Words(
        "`{name}` came to `LoraConfig` in PEFT {first}; {version} is installed",
        "The class of the installed release raises a TypeError about an unexpected keyword argument.",
        "Install PEFT {first} or newer, or take `{name}` out.",
    ),
    zh=Words(
        "`{name}` 自 PEFT {first} 起才属于 `LoraConfig`;当前安装的是 {version}",
        "已安装版本的该类会因意外的关键字参数而抛出 TypeError。",
        "安装 PEFT {first} 或更新版本,或删除 `{name}`。",
    ),
)


@check(PROBLEM)
def lora_argument_unknown(training: Training, packages: Packages) -> Judgement:
    """Compare the keywords written in a script; those of TRL's own parser are TRL's."""
    version = installed(packages, "peft")
    settings = [each for each in (training.lora or {}).values() if each.place and each.place.file.endswith(".py")]
    if not settings:
        return
    valid = data.lora_arguments(version)
    if valid is None:
        yield Skip(f"the arguments of PEFT {version} are not in the doctor's data")
        return
    for setting in settings:
        if setting.name in valid:
            continue
        history = data.lora_argument(setting.name)
        later = history is not None and came_later(history, version)
        alike = near(setting.name, valid)
        yield found(
            PROBLEM,
            LATER if later else MESSAGE_NEAR if alike else MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=(f'pip install "peft>={history.first}"',) if history and later else (),
            name=setting.name,
            near=alike,
            first=history.first if history else None,
            version=version,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the argument up in the history of LoraConfig."""
    name = hits.get("name") or ""
    history = data.lora_argument(name)
    return found(
        PROBLEM,
        LOG_MESSAGE_LATER if history else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"pip install -U 'peft>={history.first}'",) if history else (),
        name=name,
        first=history.first if history else None,
        newest=data.newest("peft"),
    )
