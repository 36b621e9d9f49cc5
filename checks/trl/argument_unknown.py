"""An argument that no release of TRL or Transformers knows.

## What it means
A configuration class of TRL (`GRPOConfig`, `SFTConfig` ...) is given a keyword that it has never had: a
typing error, or an argument of another class.
## What it does to a run
In a script the class raises `TypeError: __init__() got an unexpected keyword argument`; on a command line
or in a YAML file TRL's parser refuses it. Nothing is trained.
## What to do
Correct the name, or give the argument to the class that has it.
## How it is found
The names that script, YAML and command line set are compared with the arguments of the class in the
installed TRL and Transformers, and with the history of both.
In a log: by the argument that the exception names, looked up in the history of the class.
## References
https://huggingface.co/docs/trl/grpo_trainer#trl.GRPOConfig
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._arguments import known_elsewhere, near, own_settings
from doctor.checks.trl._helpers import installed, quoted, unsloth_replaces
from doctor.checks.trl._logged import TRAINING, refusals
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL001", name="trl-argument-unknown", severity=ERROR, since="0.1", affects={"trl": ">=0.7"})

SIGNATURES = (
    Signature(
        r"TypeError: (?:(?P<owner>[A-Z]\w{0,60})\.)?__init__\(\) got an unexpected keyword argument"
        r" '(?P<name>\w{1,80})'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}` was passed to {owner}, which never had such an argument",
        "No release of TRL knows the name, so the class refuses it before anything is loaded.",
        "Take `{name}` out, or hand it to the object it was meant for: the model, the trainer or `LoraConfig`.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`,而该类从未有过这个参数",
        "TRL 的任何版本都没有这个名称,因此该类在加载任何东西之前就拒绝它。",
        "删除 `{name}`,或把它交给真正需要它的对象:模型、训练器或 `LoraConfig`。",
    ),
)

LOG_MESSAGE_NEAR = Message(
    en=Words(
        "`{name}` was passed to {owner}, which has `{near}` but never had that name",
        "No release of TRL knows the name, which looks like a slip of `{near}`; the class refuses it "
        "before anything is loaded.",
        "Write `{near}` if that is what is meant, else take `{name}` out.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`;该类有 `{near}`,但从未有过这个名称",
        "TRL 的任何版本都没有这个名称,看来是 `{near}` 的笔误;该类在加载任何东西之前就拒绝它。",
        "如果本意是 `{near}`,请改写;否则删除 `{name}`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` is no argument of `{owner}` in TRL {version}",
        "`{owner}` has never had an argument of this name, so it raises an error about an unexpected or "
        "unused argument before anything is loaded.",
        "Take `{name}` out or give it to the class that has it.",
    ),
    zh=Words(
        "`{name}` 不是 TRL {version} 中 `{owner}` 的参数",
        "`{owner}` 从来没有这个名字的参数,因此在加载任何东西之前就会因意外或未使用的参数而报错。",
        "删除 `{name}`,或把它交给拥有该参数的类。",
    ),
)

MESSAGE_NEAR = Message(
    en=Words(
        "`{name}` is no argument of `{owner}` in TRL {version}; `{near}` is",
        "`{owner}` has never had an argument of this name, so it raises an error about an unexpected or "
        "unused argument before anything is loaded.",
        "Write `{near}` if that is what is meant, else take the argument out.",
    ),
    zh=Words(
        "`{name}` 不是 TRL {version} 中 `{owner}` 的参数,相近的是 `{near}`",
        "`{owner}` 从来没有这个名字的参数,因此在加载任何东西之前就会因意外或未使用的参数而报错。",
        "如果本意如此,请写成 `{near}`;否则删除该参数。",
    ),
)


@check(PROBLEM)
def argument_unknown(training: Training, packages: Packages, launch: Launch | None, script: Script | None) -> Judgement:
    """Compare each name with what the class takes; a name known to another release is another problem."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None or data.trl_class(owner) is None:
        return
    if unsloth_replaces(script):
        yield Skip("Unsloth replaces TRL's configuration classes, and theirs take more arguments")
        return
    valid = data.config_arguments(owner, version, installed(packages, "transformers"))
    if valid is None:
        yield Skip(f"the arguments of `{owner}` in the installed TRL and Transformers are not in the doctor's data")
        return
    for named in own_settings(training, launch):
        name = named.setting.name
        if name in valid or data.trl_argument(owner, name) or data.training_argument(name):
            continue
        alike = near(name, valid)
        if not named.in_call and (alike is None or known_elsewhere(name) or name.removeprefix("no_") in valid):
            continue  # an argument of another class that the same parser fills
        yield found(
            PROBLEM,
            MESSAGE_NEAR if alike else MESSAGE,
            where=place_of(named.setting),
            evidence=quoted(named.setting),
            commands=(f"{alike}={named.setting.text}",) if alike else (),
            confidence=named.confidence,
            name=name,
            owner=owner,
            version=version,
            near=alike,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "unknown" or each.package != "":
            continue
        if each.owner in TRAINING:
            continue
        near_name = near(each.name, _newest_names(each.owner))
        return found(
            PROBLEM,
            LOG_MESSAGE_NEAR if near_name else LOG_MESSAGE,
            where=hits.where(),
            evidence=hits.evidence(),
            commands=(f"{near_name}=...",) if near_name else (),
            name=each.name,
            owner=f"`{each.owner}`",
            near=near_name,
        )
    return None


def _newest_names(owner: str) -> frozenset[str]:
    """Names of a class in the newest releases that the data know."""
    trl, transformers = data.newest("trl") or "", data.newest("transformers") or ""
    return data.config_arguments(owner, trl, transformers) or frozenset()
