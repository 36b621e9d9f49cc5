"""The mini-batch is larger than the batch.

## What it means
`actor.ppo_mini_batch_size` is the part of `data.train_batch_size` that makes one update, both counted in
prompts. Its default is 256.
## What it does to a run
veRL stops at the start with `train_batch_size (128) must be >= actor.ppo_mini_batch_size (256)`, before
0.6.0 with a bare AssertionError.
## What to do
Set `actor_rollout_ref.actor.ppo_mini_batch_size` to the batch or a divisor of it.
## How it is found
The composed values.
## References
https://github.com/verl-project/verl/blob/v0.6.1/verl/workers/config/actor.py
https://github.com/verl-project/verl/blob/v0.3.0.post1/verl/trainer/ppo/ray_trainer.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ACTOR, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="VRL004",
    name="verl-mini-batch-above-batch",
    severity=ERROR,
    since="0.1",
    affects={"verl": ">=0.3.0.post0"},
)

MESSAGE = Message(
    en=Words(
        "`ppo_mini_batch_size` is {mini}, more than the {batch} prompts of `train_batch_size`",
        "An update cannot take more prompts than a step has: veRL checks this first and ends at the start.",
        "Set `actor_rollout_ref.actor.ppo_mini_batch_size` to {batch} or a divisor of it.",
    ),
    zh=Words(
        "`ppo_mini_batch_size` 为 {mini},大于 `train_batch_size` 的 {batch} 个 prompt",
        "一次更新不可能使用比一步更多的 prompt:veRL 会先检查这一点并在启动时退出。",
        "把 `actor_rollout_ref.actor.ppo_mini_batch_size` 设为 {batch} 或它的约数。",
    ),
)


@check(PROBLEM)
def mini_batch_above_batch(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Not checked by veRL where batches are dynamic."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = (ACTOR + "ppo_mini_batch_size", "data.train_batch_size")
    mini, batch = map(verl.number, keys)
    if not mini or not batch or mini <= batch or verl.is_on(ACTOR + "use_dynamic_bsz") is not False:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        mini=mini,
        batch=batch,
        where=place_of(*place_settings(verl, *keys)),
        commands=(f"{keys[0]}={batch}",),
        evidence=verl.quoted(*keys),
    )
