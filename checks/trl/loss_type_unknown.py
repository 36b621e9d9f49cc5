"""The installed TRL has no such `loss_type`.

## What it means
TRL added losses over time (dapo in 0.22, cispo and sapo in 0.26, luspo in 0.28, vespo in 1.0). An unknown
one is noticed only when the first loss is computed.
## What it does to a run
The run loads the model, generates a whole batch, scores it and then raises "Unknown loss type".
## What to do
Use one of the losses of the installed release, or install the release that has this one.
## How it is found
`loss_type` as set, against the losses of the installed TRL.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

import re

from doctor import data
from doctor.checks.trl._helpers import installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL033", name="grpo-loss-type-unknown", severity=ERROR, since="0.1", affects={"trl": ">=0.17"})

SIGNATURES = (Signature(r"ValueError: Unknown loss type: (?P<loss>[^\s]{1,60}?)\.?(?:\s|$)"),)

LOG_MESSAGE = Message(
    en=Words(
        "the installed TRL has no `loss_type={loss}`",
        "The name is looked up only when the first loss is computed, after generation. `grpo`, `bnpo` "
        "and `dr_grpo` exist from 0.17 on; newer losses came with newer releases.",
        "Write the name as the installed release knows it (`grpo`, `bnpo`, `dr_grpo`, `dapo` ...), or "
        "upgrade TRL: `pip install -U trl`.",
    ),
    zh=Words(
        "已安装的 TRL 没有 `loss_type={loss}`",
        "只有在生成之后计算第一个损失时才会查找该名称。`grpo`、`bnpo`、`dr_grpo` 自 0.17 起存在;更新的损"
        "失随更新的版本而来。",
        "按已安装版本认识的名称书写(`grpo`、`bnpo`、`dr_grpo`、`dapo` 等),或升级 TRL:`pip install -U trl`。",
    ),
)

PREFERENCE = Message(
    en=Words(
        "the installed TRL has no `loss_type={loss}` for preference pairs",
        "It has {known}. Losses come with releases, and some went (`kto_pair`, when KTO got a trainer of its own), "
        "and names of other frameworks are not TRL's.",
        "Take one of these. For KTO use `KTOTrainer` (LLaMA-Factory: `stage: kto`), for CPO, SimPO and ORPO "
        "`CPOTrainer` and `ORPOTrainer` (LLaMA-Factory: `pref_loss: simpo` with a release that knows it). A loss "
        "that is newer than this release: `pip install -U trl`.",
    ),
    zh=Words(
        "已安装的 TRL 没有用于偏好对的 `loss_type={loss}`",
        "它提供 {known}。损失随版本增加,也有被移除的(`kto_pair`,KTO 有了单独的训练器);其他框架的名称并非 TRL 的名称。",
        "使用其中之一。KTO 请用 `KTOTrainer`(LLaMA-Factory:`stage: kto`),CPO、SimPO 和 ORPO 请用 `CPOTrainer` 和 "
        "`ORPOTrainer`(LLaMA-Factory:在支持的版本中用 `pref_loss: simpo`)。比该版本更新的损失:`pip install -U trl`。",
    ),
)

LOG_COMMANDS = ("pip install -U trl",)

MESSAGE = Message(
    en=Words(
        '`loss_type="{value}"` is not among the losses of TRL {version}',
        'TRL notices it only after the first rollout, when it computes the loss, and raises "Unknown loss type".',
        "Use one of these, or install a TRL that has this loss.",
    ),
    zh=Words(
        '`loss_type="{value}"` 不在 TRL {version} 的损失函数之列',
        "TRL 直到第一次 rollout 之后计算损失时才发现,并抛出 Unknown loss type。",
        "使用下列之一,或安装提供该损失函数的 TRL。",
    ),
)


@check(PROBLEM)
def loss_type_unknown(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit and readable value."""
    version, setting = installed(packages, "trl"), training.get("loss_type")
    if not is_grpo(training) or setting is None:
        return
    release = data.trl_release(version)
    if release is None or not setting.known:
        yield Skip("`loss_type` or the losses of the installed TRL are not known")
        return
    if isinstance(setting.value, str) and release.loss_types and setting.value not in release.loss_types:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=tuple(f'loss_type="{each}"' for each in release.loss_types),
            value=setting.value,
            version=version,
        )


#: frameworks with a loss of their own that refuse in the same words
_TRAINER = re.compile(r"(?i)trl[\\/]|grpo")
_LISTED = re.compile(r"Should be one of \[([^\]]{5,400})")
_OTHERS = re.compile(r"[\\/](?:slime|miles|verl|openrlhf|trinity|areal|nemo_rl)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """TRL's own refusal, also where a trainer made from it says so."""
    frames = hits.first.frames
    if frames and _OTHERS.search(frames[-1]):
        return None
    known = any(_TRAINER.search(each) for each in frames)
    listed = _LISTED.search(hits.first.text)
    if listed and "sigmoid" in listed[1]:
        names = ", ".join(f"`{name}`" for name in re.findall(r"\w{2,30}", listed[1])[:14])
        return found(
            PROBLEM, PREFERENCE, where=hits.where(), evidence=hits.evidence(), loss=hits.get("loss"), known=names,
            confidence=CONFIRMED if known else LIKELY,
        )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), loss=hits.get("loss"),
        confidence=CONFIRMED if known else LIKELY,
    )  # fmt: skip
