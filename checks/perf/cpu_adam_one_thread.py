"""Judges cpu-adam-one-thread (PRF006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


FEW_CORES = 4  # below that a rank has little to gain


def _threads(
    launch: Launch, environment: Environment, config: AccelerateConfig | None, ranks: int
) -> tuple[str | None, str]:
    """(OMP_NUM_THREADS of a rank, who decided it); None where all cores are used."""
    if launch.kind in {"accelerate", "trl"}:
        own = launch.option("num_cpu_threads_per_process")
        theirs = config.settings.get("num_cpu_threads_per_process") if config else None
        if own is not None or theirs is not None:
            return str((own or theirs).value), "num_cpu_threads_per_process"  # type: ignore[union-attr]
    given = environment.get("OMP_NUM_THREADS")
    if given:
        return given, "OMP_NUM_THREADS"
    if launch.kind in {"accelerate", "trl"} or (launch.kind == "torchrun" and ranks > 1):
        return "1", launch.program or launch.kind
    return None, ""


@check(PROBLEM)
def cpu_adam_one_thread(
    launch: Launch, environment: Environment, host: Host, world: World, accelerate_config: AccelerateConfig | None
) -> Judgement:
    """Judge DeepSpeed's offload where each rank has several cores."""
    ranks = world.local_processes or 0
    if world.backend != "deepspeed" or world.offload_optimizer not in {"cpu", "nvme"} or not ranks or not host.cpus:
        return
    threads, decided_by = _threads(launch, environment, accelerate_config, ranks)
    cores = host.cpus // ranks
    if threads != "1" or cores < FEW_CORES or decided_by == "OMP_NUM_THREADS" or runs_elsewhere(launch):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        cores=cores,
        launcher=decided_by,
        confidence=LIKELY,
        commands=(f"export OMP_NUM_THREADS={cores}",),
        evidence=(Observed.quoted("host", f"{host.cpus} CPUs, {ranks} ranks"),),
    )
