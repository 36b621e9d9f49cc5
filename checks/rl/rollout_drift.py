"""The rollout engine drifts away from the model that is trained.

## What it means
The trainer scores the sampled tokens again; with the same weights both log probabilities differ by rounding only,
steadily.
A difference that grows means that the engine has other weights (they were not pushed, or were overwritten), or
computes
another result from the same ones.
## What it does to a run
Samples come from another policy than the one that learns from them. Reward may rise for a while; then gradients
explode
and the policy collapses.
## What to do
TRL: with `vllm_enable_sleep_mode` on TRL 0.28 to 1.9.2 install 1.10 or newer, or switch sleep mode off; in server
mode see
that weights arrive. veRL: disable cascade attention of vLLM on GPUs other than Hopper, or install a vLLM that has the
fix.
## How it is found
`sampling/sampling_logp_difference/mean` (veRL: `training/rollout_probs_diff_mean`) rises from the very first steps to
three times its first value, or its median over 10 logged steps is three times that of the first 10.
## References
https://github.com/huggingface/trl/issues/5312
https://github.com/verl-project/verl/pull/3595
https://github.com/vllm-project/vllm/pull/22103
"""

from __future__ import annotations

import math
from typing import Optional

from doctor.core.columns import Stretch
from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.rules import sighting, step_text
from doctor.core.series import Point, rule
from doctor.core.stats import Alarm, Baseline, Window

PROBLEM = Problem(id="RLX014", name="rollout-drift", severity=ERROR, since="0.1")

WEIGHTS = Message(
    en=Words(
        "rollout engine and trainer disagree ever more: `sampling_logp_difference` {first} to {value}",
        "The log probabilities of the same tokens should differ by rounding only. A difference that grows "
        "with the steps means that vLLM samples with stale weights, or computes another result from the same "
        "ones; the run learns off-policy.",
        "Check that vLLM gets the trained weights. With `vllm_enable_sleep_mode` on TRL 0.28 to 1.9.2 install "
        "1.10 or newer, or switch sleep mode off; in server mode restart the server and look for failed "
        "weight updates.",
    ),
    zh=Words(
        "rollout 引擎与训练器的分歧越来越大:`sampling_logp_difference` 从 {first} 升至 {value}",
        "同样的 token,两边的对数概率只应有舍入误差。差异随步数增长,说明 vLLM 在用过期的权重采样,或用相同权重算"
        "出了不同结果;训练已变成离策略学习。",
        "检查 vLLM 是否拿到训练后的权重。TRL 0.28 到 1.9.2 开启 `vllm_enable_sleep_mode` 时,请安装 1.10 及以上"
        "版本或关闭 sleep mode;server 模式下重启服务器并查找权重更新失败的记录。",
    ),
)
PROBABILITIES = Message(
    en=Words(
        "rollout engine and trainer disagree ever more: `rollout_probs_diff_mean` {first} to {value}",
        "The probabilities of the same tokens should differ by rounding only. A mismatch that grows means "
        "that the rollout engine (vLLM) has stale weights or an attention kernel that computes something else;"
        " gradients explode and reward falls next.",
        "Disable vLLM's cascade attention on GPUs other than Hopper, or upgrade vLLM; check that weights "
        "arrive after each update. Until then correct by importance sampling (`rollout_is`).",
    ),
    zh=Words(
        "rollout 引擎与训练器的分歧越来越大:`rollout_probs_diff_mean` 从 {first} 升至 {value}",
        "同样的 token,两边的概率只应有舍入误差。差异不断增长,说明 rollout 引擎(vLLM)用了过期的权重,或其注意力"
        "算子的结果不同;接下来就是梯度爆炸、奖励下降。",
        "在非 Hopper GPU 上关闭 vLLM 的 cascade attention,或升级 vLLM;检查每次更新后权重是否送达。在此之前用重"
        "要性采样(`rollout_is`)修正。",
    ),
)
#: hydra override of veRL, https://github.com/verl-project/verl/pull/3595
NO_CASCADE = "+actor_rollout_ref.rollout.engine_kwargs.vllm.disable_cascade_attn=True"

#: a rise by this factor; TRL issue 5312 measured 0.20 at the third step against 0.015 with the right weights
TIMES = 3.0

#: below these means nobody need worry: bf16 alone gives 0.015 (log probability) and 0.005 (probability)
FLOORS = {"sampling/sampling_logp_difference/mean": 0.04, "sampling/probs_difference/mean": 0.015}

#: logged steps of the medians, and rises running at the beginning of a run that are enough
STEPS, RISES = 10, 2


class _Side:
    """State of one of the two metrics."""

    def __init__(self) -> None:
        self.base, self.recent = Baseline(STEPS), Window(STEPS)
        self.alarm = Alarm(1, calm=STEPS)
        self.first: Optional[float] = None
        self.last = math.inf
        self.rises = self.count = 0


@rule(PROBLEM, needs=tuple(FLOORS))
class RolloutDrift:
    """Two ways to see it: a climb from the very first step, or a median far above the first one."""

    def __init__(self) -> None:
        self._sides = {name: _Side() for name in FLOORS}

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one difference."""
        side, value = self._sides[point.name], point.value
        if not math.isfinite(value):
            return None
        side.count += 1
        side.first = value if side.first is None else side.first
        side.rises = side.rises + 1 if value > side.last else 0
        side.last = value
        climbed = side.rises == side.count - 1 >= RISES and value >= TIMES * side.first
        first, now = side.first, value
        if side.base.push(value) and side.base.median is not None:
            side.recent.push(value)
            first, now = side.base.median, side.recent.median if side.recent.full else 0.0
            climbed = climbed or now >= TIMES * first
        now = max(now, value) if climbed else now
        if not side.alarm.see(climbed and now >= FLOORS[point.name], point.step):
            return None
        message = WEIGHTS if "logp" in point.name else PROBABILITIES
        commands = () if message is WEIGHTS else (NO_CASCADE,)
        return found(
            PROBLEM, message, confidence=LIKELY, commands=commands, first=f"{first:.2g}", value=f"{now:.2g}",
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose differences are all small, once the first climb is over."""
        told = [(self._sides[name], floor, stretch[name]) for name, floor in FLOORS.items() if stretch[name].values]
        for side, floor, column in told:
            first = side.base.median
            if first is None or not side.recent.full or not column.finite or side.rises >= side.count - 1:
                return False
            if max(column.high, side.recent.high) >= max(floor, TIMES * first):
                return False
        for side, _, column in told:
            side.count += len(column)
            side.rises, side.last = 0, column.values[-1]  # a count of rises that once fell behind stays behind
            side.recent.extend(column.values)
            side.alarm.rest(len(column))
        return True
