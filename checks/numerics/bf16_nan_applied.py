"""DeepSpeed applies NaN gradients of bf16 to the weights.

## What it means
In fp16 DeepSpeed looks for overflows before each step. In bf16 it stopped doing so under ZeRO 1 and 2 from 0.17.1 to
0.19.2, unless `bf16.check_grad_overflow` is set. (Under ZeRO 3 it never did before 0.19.8; that is every such run, so
it is not told.)
## What it does to a run
One NaN gradient ruins all weights without a message; `loss` may even be logged as 0, and `grad_norm` is the
first to tell.
## What to do
Set `bf16.check_grad_overflow`, install a newer DeepSpeed, and watch `grad_norm`.
## How it is found
ZeRO stage, precision and the installed DeepSpeed.
## References
https://github.com/deepspeedai/DeepSpeed/pull/8035
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.3/deepspeed/runtime/engine.py
"""

from __future__ import annotations

from doctor import data
from doctor.checks.numerics._precision import precision
from doctor.checks.trl._helpers import installed, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="NUM004", name="bf16-nan-applied", severity=INFO, since="0.1", affects={"deepspeed": ">=0.9"})

MESSAGE = Message(
    en=Words(
        "DeepSpeed {version} does not check bf16 gradients for NaN under ZeRO-{stage}",
        "A single NaN gradient is applied and ruins the weights without a message. Nothing is wrong as "
        "long as none appears.",
        "Set `bf16.check_grad_overflow` in the DeepSpeed configuration, or install DeepSpeed 0.19.8 or newer, to have "
        "such steps skipped.",
    ),
    zh=Words(
        "DeepSpeed {version} 在 ZeRO-{stage} 下不检查 bf16 梯度是否为 NaN",
        "一个 NaN 梯度就会被应用并毁掉权重,且没有任何提示。只要没有出现 NaN 就没有问题。",
        "在 DeepSpeed 配置中设置 `bf16.check_grad_overflow`,或安装 DeepSpeed 0.19.8 及以上版本,以跳过这样的步。",
    ),
)


@check(PROBLEM)
def bf16_nan_applied(
    training: Training, world: World, packages: Packages, deepspeed: DeepspeedConfig | None
) -> Judgement:
    """Judge by the facts of the installed release."""
    version, stage = installed(packages, "deepspeed"), world.zero_stage
    if stage not in {1, 2}:
        return
    release = data.deepspeed_release(version)
    chosen = precision(training, world, deepspeed, installed(packages, "trl"))
    if release is None or chosen is None:
        yield Skip("the precision of the run or the installed DeepSpeed is not known")
        return
    switch = deepspeed.settings.get("bf16.check_grad_overflow") if deepspeed else None
    by_hand = switch is not None and bool(truth(switch.value))
    if chosen[0] == "bf16" and not release.bf16_overflow_checked_zero12 and not by_hand:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(chosen[1]),
            evidence=(Evidence("installed packages", f"deepspeed {version}"), *quoted(chosen[1])),
            commands=('"check_grad_overflow": true', 'pip install "deepspeed>=0.19.8"'),
            version=version,
            stage=stage,
        )
