"""An argument that came to TRL after the installed release.

## What it means
The script was written for a newer TRL than the one that is installed.
## What it does to a run
The class raises `TypeError: __init__() got an unexpected keyword argument`, or TRL's parser refuses it.
Nothing is trained.
## What to do
Install a release that has the argument, or take it out.
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

PROBLEM = Problem(id="TRL003", name="trl-argument-too-new", severity=ERROR, since="0.1", affects={"trl": ">=0.7"})

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
        "The argument came to the class with TRL {first}; the installed release does not know it yet and "
        "stops before anything is loaded.",
        "Upgrade TRL to {first} or newer, or take `{name}` out.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`,而已安装的版本比该参数更旧",
        "该参数随 TRL {first} 加入此类;已安装的版本还不认识它,在加载任何东西之前就停止。",
        "将 TRL 升级到 {first} 或更新版本,或删除 `{name}`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` came to `{owner}` in TRL {first}; {version} is installed",
        "The installed class does not know the argument and raises an error about it before anything is loaded.",
        "Install TRL {first} or newer, or take `{name}` out.",
    ),
    zh=Words(
        "`{name}` 自 TRL {first} 起才属于 `{owner}`;当前安装的是 {version}",
        "已安装的类不认识此参数,在加载任何东西之前就会报错。",
        "安装 TRL {first} 或更新版本,或删除 `{name}`。",
    ),
)


#: judged by TRL011, which says what to do without it
COLOCATE = {"vllm_mode", "vllm_tensor_parallel_size"}


@check(PROBLEM)
def argument_not_yet(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Look each name up in the history of the class."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None:
        return
    for named in own_settings(training, launch):
        history = data.trl_argument(owner, named.setting.name)
        if history is None or history.inherited or named.setting.name in COLOCATE:
            continue
        if came_later(history, version):
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(named.setting),
                evidence=(*quoted(named.setting), *history_of("TRL", history)),
                commands=(f'pip install "trl>={history.first}"',),
                confidence=named.confidence,
                name=named.setting.name,
                owner=owner,
                first=history.first,
                version=version,
            )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "not-yet" or each.package != "trl":
            continue
        assert each.history is not None  # noqa: S101
        if each.name == "vllm_mode":
            continue  # TRL011 says what server mode of that release wants
        return found(
            PROBLEM,
            LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"pip install -U 'trl>={each.history.first}'",),
            confidence=each.confidence,
            name=each.name,
            owner=f"`{each.owner}`" if each.owner else "the arguments",
            first=each.history.first,
        )
    return None
