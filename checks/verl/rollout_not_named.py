"""The rollout engine is not named.

## What it means
Up to 0.5.0 veRL's rollout engine was vLLM unless something else was said. From 0.6.0 on there is no
default.
## What it does to a run
`MissingMandatoryValue: Missing mandatory value: actor_rollout_ref.rollout.name` at the start.
## What to do
Say `actor_rollout_ref.rollout.name=vllm` (or `sglang`).
## How it is found
The composed value and the installed release.
## References
https://github.com/verl-project/verl/blob/v0.6.0/verl/trainer/config/rollout/rollout.yaml
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ROLLOUT, Verl, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL014", name="verl-rollout-not-named", severity=ERROR, since="0.1", affects={"verl": ">=0.6"})

MESSAGE = Message(
    en=Words(
        "`actor_rollout_ref.rollout.name` is not set, and veRL {version} has no default for it",
        "veRL ends with `Missing mandatory value: actor_rollout_ref.rollout.name`. Up to 0.5.0 the default was `vllm`.",
        "Name the engine.",
    ),
    zh=Words(
        "没有设置 `actor_rollout_ref.rollout.name`,而 veRL {version} 没有默认值",
        "veRL 会以 `Missing mandatory value: actor_rollout_ref.rollout.name` 退出。0.5.0 及之前默认为 `vllm`。",
        "写明所用的引擎。",
    ),
)


@check(PROBLEM)
def rollout_not_named(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """A user's own file may leave it to the defaults as well."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.value(ROLLOUT + "name") != "???":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=verl.version,
        commands=(f"{ROLLOUT}name=vllm",),
        evidence=verl.quoted(ROLLOUT + "name"),
    )
