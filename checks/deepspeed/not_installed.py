"""The command uses DeepSpeed, and DeepSpeed is not installed.

## What it means
The accelerate file says DEEPSPEED, a DeepSpeed configuration is named, or the launcher is `deepspeed`, and the
interpreter that trains has no such distribution.
## What it does to a run
`ImportError: DeepSpeed is not installed`, or `requires deepspeed` from Transformers, before anything is loaded.
## What to do
Install DeepSpeed into that interpreter, or use a configuration without it.
## How it is found
The command's backend against the installed distributions.
In a log: by the exception of Transformers or accelerate.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/commands/launch.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="DSP015", name="deepspeed-not-installed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"The 'deepspeed>=[\d.]{1,12}' distribution was not found"),
    Signature(r"ImportError: DeepSpeed is not installed => run `pip3? install deepspeed`"),
    Signature(r"ImportError: DeepSpeed version must be >= [\d.]{1,12}\. Please update DeepSpeed"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the command uses DeepSpeed, which is not installed (or too old) there",
        "`--deepspeed`, `deepspeed=` or the accelerate configuration asks for it; the environment that "
        "runs the script lacks the package.",
        "Install it with the same interpreter: `python -m pip install -U deepspeed`, or take the "
        "DeepSpeed configuration out.",
    ),
    zh=Words(
        "命令要用 DeepSpeed,而其解释器没有安装 DeepSpeed(或版本过旧)",
        "`--deepspeed`、`deepspeed=` 或 accelerate 配置要求使用它;运行脚本的环境中没有该包。",
        "用同一个解释器安装:`python -m pip install -U deepspeed`,或去掉 DeepSpeed 配置。",
    ),
)

LOG_COMMANDS = ("python -m pip install -U deepspeed",)

MESSAGE = Message(
    en=Words(
        "The command uses DeepSpeed, and it is not installed",
        "The launch ends with `DeepSpeed is not installed` before anything is loaded.",
        "Install DeepSpeed into the interpreter that trains, or use a configuration without it.",
    ),
    zh=Words(
        "该命令使用 DeepSpeed,但没有安装它",
        "启动会在加载任何内容之前以 `DeepSpeed is not installed` 退出。",
        "在训练所用的解释器里安装 DeepSpeed,或改用不含它的配置。",
    ),
)


@check(PROBLEM)
def not_installed(
    launch: Launch,
    world: World,
    packages: Packages,
    accelerate: AccelerateConfig | None,
    training: Training | None,
) -> Judgement:
    """A partial list proves nothing."""
    if world.backend != "deepspeed" or "deepspeed" in packages.distributions:
        return
    if not packages.complete:
        yield Skip("the list of packages is partial and does not mention DeepSpeed")
        return
    reason = accelerate.settings.get("distributed_type") if accelerate is not None else None
    if training is not None and training.get("deepspeed") is not None:
        reason = training.get("deepspeed")
    reason = reason or launch.option("use_deepspeed")
    commands = ("pip install deepspeed",)
    yield found(PROBLEM, MESSAGE, where=place_of(reason), commands=commands, evidence=proofs(reason))
