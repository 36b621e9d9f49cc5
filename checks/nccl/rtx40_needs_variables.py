"""Judges rtx40-needs-variables (NCC007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


GOOD_DRIVER = "550.40.07"  # accelerate/utils/environment.py, check_cuda_p2p_ib_support
VARIABLES = ("NCCL_P2P_DISABLE", "NCCL_IB_DISABLE")


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
        evidence=(Observed.quoted("NVML", f"{len(gpus.gpus)} GPUs, {cards[0]}, driver {gpus.driver_version}"),),
    )


def _is_new(driver: str | None) -> bool:
    from packaging.version import Version

    try:
        return driver is not None and Version(driver) >= Version(GOOD_DRIVER)
    except ValueError:
        return True
