"""Accelerate refuses several RTX 40 cards with an old driver unless two variables are set.

## What it means
GeForce RTX 40 cards have no P2P, and drivers before 550.40.07 report it wrongly. Accelerate looks for cards with "RTX
40" in their name (an RTX 4000 matches too) and wants NCCL_P2P_DISABLE and NCCL_IB_DISABLE to be there. `accelerate
launch` sets both, but only where it starts several processes; `torchrun`, `deepspeed` and `python` set none.
## What it does to a run
The first thing that touches Accelerate, TrainingArguments or the trainer, ends with `NotImplementedError: Using RTX
4000 series doesn't support faster communication broadband via P2P or IB`, also with one process on one card.
## What to do
Set both variables to 1, or update the driver.
## How it is found
Names and number of the GPUs, version of the driver, the two variables, and the launcher.
## References
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/state.py
https://github.com/huggingface/accelerate/pull/2195
https://github.com/huggingface/accelerate/pull/2558
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import runs_elsewhere
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="NCC007", name="rtx40-needs-variables", severity=ERROR, since="0.1", affects={"accelerate": ">=0.29"}
)
GOOD_DRIVER = "550.40.07"  # accelerate/utils/environment.py, check_cuda_p2p_ib_support
VARIABLES = ("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE")

MESSAGE = Message(
    en=Words(
        "{count} GPUs with {name} and driver {driver}, and `{missing}` is not set",
        "Accelerate ends with `NotImplementedError: Using RTX 4000 series doesn't support faster communication "
        "broadband via P2P or IB` unless both variables are there. This launcher does not set them.",
        "Set both variables, start several processes with `accelerate launch`, which sets them, or install driver "
        "550.40.07 or newer.",
    ),
    zh=Words(
        "{count} 张 GPU 中有 {name},驱动为 {driver},而未设置 `{missing}`",
        "除非两个变量都存在,Accelerate 会以 `NotImplementedError: Using RTX 4000 series doesn't support faster "
        "communication broadband via P2P or IB` 退出,而当前启动方式不会设置它们。",
        "设置这两个变量,或用会自动设置它们的 `accelerate launch` 启动多进程,或安装 550.40.07 及以上的驱动。",
    ),
)


@check(PROBLEM)
def rtx40_needs_variables(
    launch: Launch, environment: Environment, gpus: Gpus, world: World, training: Training
) -> Judgement:
    """Judge by the number of GPUs of the machine, as Accelerate does: hidden ones count."""
    if world.backend == "cpu" or runs_elsewhere(launch) or (training.config_class or training.trainer) is None:
        return
    cards = [gpu.name for gpu in gpus.gpus if gpu.name and "RTX 40" in gpu.name]
    present = {*environment.variables, *training.environment_set}
    missing = [name for name in VARIABLES if name not in present]
    if len(gpus.gpus) < 2 or not cards or not missing or _is_new(gpus.driver_version):
        return
    if gpus.driver_version is None:
        yield Skip("the driver's version is not known")
        return
    if launch.kind in {"accelerate", "trl"}:
        if world.backend is None:
            yield Skip("how `accelerate` starts the processes is not known")
        if world.backend != "none":
            return
    yield found(
        PROBLEM,
        MESSAGE,
        count=len(gpus.gpus),
        name=cards[0],
        driver=gpus.driver_version,
        missing="`, `".join(missing),
        commands=("export NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1",),
        evidence=(Evidence("NVML", f"{len(gpus.gpus)} GPUs, {cards[0]}, driver {gpus.driver_version}"),),
    )


def _is_new(driver: str | None) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return driver is not None and Version(driver) >= Version(GOOD_DRIVER)
    except InvalidVersion:
        return True
