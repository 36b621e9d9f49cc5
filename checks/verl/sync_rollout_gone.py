"""Synchronous rollouts are asked for, and veRL has removed them.

## What it means
veRL 0.7.0 removed `rollout.mode=sync`, the default of 0.4 to 0.6; `async` is the only mode left.
## What it does to a run
`ValueError: Rollout mode 'sync' has been removed` at the start.
## What to do
Take the override out, or write `async`.
## How it is found
The composed value and the installed release.
## References
https://github.com/verl-project/verl/blob/v0.7.1/verl/workers/config/rollout.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ROLLOUT, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL013", name="verl-sync-rollout-gone", severity=ERROR, since="0.1", affects={"verl": ">=0.7"})

MESSAGE = Message(
    en=Words(
        "`rollout.mode=sync` is set, and veRL {version} has no such mode any more",
        "veRL ends with `Rollout mode 'sync' has been removed` when it reads its configuration.",
        "Take the override out, or use `async`.",
    ),
    zh=Words(
        "设置了 `rollout.mode=sync`,而 veRL {version} 已没有该模式",
        "veRL 读取配置时会以 `Rollout mode 'sync' has been removed` 退出。",
        "删除该覆盖项,或使用 `async`。",
    ),
)


@check(PROBLEM)
def sync_rollout_gone(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The engine has compared the version."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.value(ROLLOUT + "mode") != "sync":
        return
    yield found(
        PROBLEM,
        MESSAGE,
        version=verl.version,
        where=place_of(*place_settings(verl, ROLLOUT + "mode")),
        commands=(f"{ROLLOUT}mode=async",),
        evidence=verl.quoted(ROLLOUT + "mode"),
    )
