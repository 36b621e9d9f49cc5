"""Sequence parallelism is on and padding is not removed.

## What it means
Ulysses sequence parallelism of actor or reference works on packed sequences only, so it needs
`model.use_remove_padding=True`. That is False by default up to 0.6.1.
## What it does to a run
`When using sequence parallelism for actor/ref policy, you must enable use_remove_padding` at the start.
## What to do
Set `actor_rollout_ref.model.use_remove_padding=True`.
## How it is found
The composed values.
## References
https://github.com/verl-project/verl/blob/v0.6.1/verl/workers/config/actor.py
https://github.com/verl-project/verl/blob/v0.5.0/verl/trainer/ppo/ray_trainer.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ACTOR, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="VRL010",
    name="verl-sequence-parallel-with-padding",
    severity=ERROR,
    since="0.1",
    affects={"verl": ">=0.3.0.post0,<0.7"},
)

SIGNATURES = (
    Signature(
        r"When using sequence parallelism for (?P<part>actor/ref policy|critic), you must enable"
        r" `use_remove_padding`"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "sequence parallelism for the {part} needs `use_remove_padding`",
        "Ulysses splits packed sequences; with padding left in it cannot.",
        "Set `actor_rollout_ref.model.use_remove_padding=True` "
        "(`critic.model.use_remove_padding=True`), or `ulysses_sequence_parallel_size=1`.",
    ),
    zh=Words(
        "{part} 的序列并行需要 `use_remove_padding`",
        "Ulysses 切分的是去除填充后的序列。",
        "设置 `actor_rollout_ref.model.use_remove_padding=True`(`critic.model.use_remove_padding=True`),或 "
        "`ulysses_sequence_parallel_size=1`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`ulysses_sequence_parallel_size` is {parallel} and `use_remove_padding` is off",
        "Sequence parallelism works on packed sequences: veRL checks this first and ends with "
        "`you must enable use_remove_padding`.",
        "Switch the removal of padding on.",
    ),
    zh=Words(
        "`ulysses_sequence_parallel_size` 为 {parallel},而 `use_remove_padding` 未开启",
        "序列并行只适用于打包后的序列:veRL 会先检查这一点,并以 `you must enable use_remove_padding` 退出。",
        "开启 padding 移除。",
    ),
)


SWITCH = "actor_rollout_ref.model.use_remove_padding"


@check(PROBLEM)
def sequence_parallel_with_padding(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The actor's size; that of the reference follows it by default."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    key = ACTOR + "ulysses_sequence_parallel_size"
    parallel = verl.number(key)
    if not parallel or parallel < 2 or verl.is_on(SWITCH) is not False or not verl.is_fsdp:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        parallel=parallel,
        where=place_of(*place_settings(verl, key, SWITCH)),
        commands=(f"{SWITCH}=True",),
        evidence=verl.quoted(key, SWITCH),
    )
