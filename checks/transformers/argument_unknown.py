"""An argument that no release of `TrainingArguments` has.

## What it means
`TrainingArguments` is given a keyword that it has never had: a typing error, or an argument of another
class.
## What it does to a run
It raises `TypeError: __init__() got an unexpected keyword argument`. Nothing is trained.
## What to do
Correct the name, or give the argument to the class that has it.
## How it is found
The keywords of the call in the script are compared with the fields of the class in all releases.
In a log: by the argument that the exception names, looked up in the history of the class.
## References
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

from doctor import data
from doctor.checks.trl._arguments import near, own_settings
from doctor.checks.trl._helpers import installed, quoted
from doctor.checks.trl._logged import TRAINING, refusals
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRF004",
    name="training-argument-unknown",
    severity=ERROR,
    since="0.1",
    affects={"transformers": ">=4.37"},
)

SIGNATURES = (
    Signature(
        r"TypeError: (?:(?P<owner>[A-Z]\w{0,60})\.)?__init__\(\) got an unexpected keyword argument"
        r" '(?P<name>\w{1,80})'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}` was passed to {owner}, which never had such an argument",
        "No release of Transformers knows the name, so the class refuses it before anything is loaded.",
        "Take `{name}` out, or hand it to the object it was meant for: the model, the trainer or `LoraConfig`.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`,而该类从未有过这个参数",
        "Transformers 的任何版本都没有这个名称,因此该类在加载任何东西之前就拒绝它。",
        "删除 `{name}`,或把它交给真正需要它的对象:模型、训练器或 `LoraConfig`。",
    ),
)

LOG_MESSAGE_NEAR = Message(
    en=Words(
        "`{name}` was passed to {owner}, which has `{near}` but never had that name",
        "No release of Transformers knows the name, which looks like a slip of `{near}`; the class "
        "refuses it before anything is loaded.",
        "Write `{near}` if that is what is meant, else take `{name}` out.",
    ),
    zh=Words(
        "向 {owner} 传入了 `{name}`;该类有 `{near}`,但从未有过这个名称",
        "Transformers 的任何版本都没有这个名称,看来是 `{near}` 的笔误;该类在加载任何东西之前就拒绝它。",
        "如果本意是 `{near}`,请改写;否则删除 `{name}`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{name}` is no argument of `TrainingArguments` in Transformers {version}",
        "The class has never had an argument of this name and raises a TypeError before anything is loaded.",
        "Take `{name}` out, or give it to the class that has it.",
    ),
    zh=Words(
        "`{name}` 不是 Transformers {version} 中 `TrainingArguments` 的参数",
        "该类从来没有这个名字的参数,在加载任何东西之前就会抛出 TypeError。",
        "删除 `{name}`,或把它交给拥有该参数的类。",
    ),
)

MESSAGE_NEAR = Message(
    en=Words(
        "`{name}` is no argument of `TrainingArguments`; `{near}` is",
        "The class has never had an argument of this name and raises a TypeError before anything is loaded.",
        "Write `{near}` if that is what is meant, else take the argument out.",
    ),
    zh=Words(
        "`{name}` 不是 `TrainingArguments` 的参数,相近的是 `{near}`",
        "该类从来没有这个名字的参数,在加载任何东西之前就会抛出 TypeError。",
        "如果本意如此,请写成 `{near}`;否则删除该参数。",
    ),
)


@check(PROBLEM)
def argument_unknown(training: Training, packages: Packages, launch: Launch | None) -> Judgement:
    """Compare the keywords of the call; what a parser fills may belong to another class."""
    if training.config_class != "TrainingArguments":
        return
    version = installed(packages, "transformers")
    valid = data.training_arguments(version)
    if valid is None:
        yield Skip(f"the arguments of Transformers {version} are not in the doctor's data")
        return
    for named in own_settings(training, launch):
        name = named.setting.name
        if not named.in_call or name in valid or data.training_argument(name) is not None:
            continue
        alike = near(name, valid)
        yield found(
            PROBLEM,
            MESSAGE_NEAR if alike else MESSAGE,
            where=place_of(named.setting),
            evidence=quoted(named.setting),
            commands=(f"{alike}={named.setting.text}",) if alike else (),
            name=name,
            version=version,
            near=alike,
        )


def explain(hits: Hits) -> Finding | None:
    """Look the refused argument up in the history of its class."""
    for each in refusals(hits):
        if each.kind != "unknown" or each.package != "":
            continue
        if each.owner not in TRAINING:
            continue
        near_name = near(each.name, data.training_arguments(data.newest("transformers") or "") or ())
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
