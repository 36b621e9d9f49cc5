"""The optimizer step on the CPU runs on one thread a rank.

## What it means
DeepSpeed's optimizer on the CPU shares its work among OpenMP threads. `torchrun` with several processes and
`accelerate launch` set OMP_NUM_THREADS to 1 unless somebody says otherwise; the `deepspeed` launcher does not.
## What it does to a run
Every rank updates its share of the parameters on a single core while the others idle: the step takes several times
longer than it must.
## What to do
Set OMP_NUM_THREADS to the cores of each rank.
## How it is found
Offload of the optimizer, the launcher's rule for the variable, CPUs of this machine and ranks on it.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/csrc/adam/cpu_adam_impl.cpp
https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/commands/launch.py
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import runs_elsewhere
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="PRF006", name="cpu-adam-one-thread", severity=WARNING, since="0.1", ends_run=False)
FEW_CORES = 4  # below that a rank has little to gain

MESSAGE = Message(
    en=Words(
        "The optimizer is offloaded to the CPU, and a rank takes 1 thread of its {cores} cores",
        "`{launcher}` sets OMP_NUM_THREADS=1 where nobody sets it. DeepSpeed's optimizer on the CPU then updates the "
        "parameters of each rank on a single core while the GPUs wait.",
        "Set OMP_NUM_THREADS to the number of cores of each rank.",
    ),
    zh=Words(
        "优化器卸载到 CPU,而每个 rank 的 {cores} 个核只用 1 个线程",
        "没有人设置时,`{launcher}` 会设 OMP_NUM_THREADS=1。DeepSpeed 的 CPU 优化器便只用一个核更新每个 rank 的参数,"
        "GPU 在等待。",
        "把 OMP_NUM_THREADS 设为每个 rank 可用的核数。",
    ),
)


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
        evidence=(Evidence("host", f"{host.cpus} CPUs, {ranks} ranks"),),
    )
