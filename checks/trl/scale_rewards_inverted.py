"""`scale_rewards` does the opposite of what is set in TRL 0.22.0 and 0.22.1.

## What it means
In these two releases the trainer's lists of values are swapped: the default "group" divides by no standard
deviation at all, "none" or False divides by that of the group, and "batch" divides by that of the group
too.
## What it does to a run
The run trains with another objective than configured, also where `scale_rewards` is left at its default.
Nothing fails.
## What to do
Install TRL 0.22.2 or newer (or 0.21.0).
## How it is found
The installed TRL is 0.22.0 or 0.22.1 and the command trains with GRPO.
## References
https://github.com/huggingface/trl/blob/v0.22.1/trl/trainer/grpo_trainer.py#L1401-L1415
https://github.com/huggingface/trl/blob/v0.22.2/trl/trainer/grpo_trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import config_place, installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL019", name="scale-rewards-inverted", severity=ERROR, since="0.1", affects={"trl": ">=0.22,<0.22.2"}
)

MESSAGE = Message(
    en=Words(
        'TRL {version} inverts `scale_rewards`: it does not do what "{value}" says',
        'This is a bug of TRL {version}: "group" (the default) does not scale the advantages, "none" and '
        '"batch" divide them by the standard deviation of the group. The run trains with another objective '
        "than configured.",
        "Install TRL 0.22.2 or newer.",
    ),
    zh=Words(
        'TRL {version} 颠倒了 `scale_rewards`:实际行为与 "{value}" 不符',
        '这是 TRL {version} 的缺陷:"group"(默认值)不缩放优势值,而 "none" 和 "batch" 会除以组内标准差。本次'
        "训练的目标与配置不同。",
        "安装 TRL 0.22.2 或更新版本。",
    ),
)


@check(PROBLEM)
def scale_rewards_inverted(training: Training, packages: Packages) -> Judgement:
    """Judge the release; every value but an unknown one is treated wrongly."""
    if not is_grpo(training):
        return
    setting = training.get("scale_rewards")
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting, otherwise=config_place(training)),
        evidence=quoted(setting),
        commands=('pip install "trl==0.22.2"',),
        value=setting.value if setting is not None and setting.known else "group",
        version=installed(packages, "trl"),
    )
