"""GRPO is chosen and each prompt gets a single answer.

## What it means
GRPO compares the answers to one prompt. veRL's `rollout.n` is 1 by default, and for a group of one it takes
the mean for 0 and the deviation for 1.
## What it does to a run
Nothing fails: the advantage is the reward itself, without any baseline. With rewards of 0 and 1 no answer
is ever pushed down, and training is noisy or does nothing.
## What to do
Set `actor_rollout_ref.rollout.n` to 4 or more.
## How it is found
The composed values.
## References
https://github.com/verl-project/verl/blob/v0.5.0/verl/trainer/ppo/core_algos.py
https://verl.readthedocs.io/en/latest/algo/grpo.html
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ROLLOUT, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL012", name="verl-grpo-of-one", severity=WARNING, since="0.1")

MESSAGE = Message(
    en=Words(
        "GRPO compares the answers to a prompt, and `rollout.n` is 1",
        "A group of one has no baseline: veRL uses the reward itself as the advantage, so with rewards of "
        "0 and 1 no answer is ever pushed down.",
        "Sample several answers for each prompt, 4 to 16 as a rule.",
    ),
    zh=Words(
        "GRPO 需要比较同一 prompt 的多个回答,而 `rollout.n` 为 1",
        "只有一个回答的组没有基线:veRL 直接把奖励作为优势,因此在 0/1 奖励下不会有任何回答被抑制。",
        "为每个 prompt 采样多个回答,通常为 4 到 16 个。",
    ),
)


ESTIMATOR = "algorithm.adv_estimator"
#: on-policy distillation learns from the teacher's probabilities of one answer; veRL's own examples sample one
#: (https://github.com/verl-project/verl/tree/main/examples/on_policy_distillation_trainer)
DISTILLATION = "distillation.enabled"


@check(PROBLEM)
def grpo_of_one(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Rollouts of several turns or tools do not change the number of answers."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.value(ESTIMATOR) != "grpo" or verl.number(ROLLOUT + "n") != 1:
        return
    if verl.is_on("trainer.val_only") is True:
        return  # a run that only evaluates learns nothing from its answers
    if DISTILLATION in verl.keys and verl.is_on(DISTILLATION) is not False:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(*place_settings(verl, ROLLOUT + "n", ESTIMATOR)),
        commands=(f"{ROLLOUT}n=8",),
        evidence=verl.quoted(ESTIMATOR, ROLLOUT + "n"),
    )
