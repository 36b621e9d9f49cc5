"""Judges LCH5095/processes, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.allocation import job_gpus
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
AMD = TOML["amd"]
MESSAGE = TOML["main"]
ALLOCATION = TOML["allocation"]


#: kinds that make one process a GPU; what Ray programs do is their own matter
KINDS = {"accelerate", "torchrun", "deepspeed", "trl", "swift"}
_SAYS = {"torchrun": "--nproc_per_node {}", "deepspeed": "--num_gpus {}", "swift": "export NPROC_PER_NODE={}"}


@check(PROBLEM)
def more_processes_than_gpus(launch: Launch, world: World, training: Training | None) -> Judgement:
    """Compare the two numbers where both are known and the processes use GPUs."""
    if launch.kind not in KINDS or world.backend in {"cpu", "tpu"} or runs_elsewhere(launch):
        return
    if training is not None and (training.value("use_cpu") or training.value("no_cuda")):
        return
    processes = world.local_processes
    if processes is None or processes < 2:
        return
    gpus = len(world.visible_gpus) if world.visible_gpus is not None else world.listed_gpus
    if world.visible_gpus is None and (gpus is None or gpus >= processes):
        yield Skip("the GPUs of this machine cannot be seen")
        return
    if gpus is None or not 0 < gpus < processes:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        processes=processes,
        gpus=gpus,
        where=place_of(world.processes_from),
        commands=(_SAYS.get(launch.kind, "--num_processes {}").format(gpus),),
        evidence=proofs(world.processes_from),
    )


@check(PROBLEM)
def more_processes_than_allocated(launch: Launch, world: World) -> Judgement:
    """Compare the processes of a node with the GPUs that the job asks Slurm for; the allocation is not here yet."""
    asked = job_gpus(launch)
    if asked is None or launch.kind not in KINDS or world.backend in {"cpu", "tpu"}:
        return
    gpus, setting = asked
    processes = world.local_processes
    if processes is None or not 0 < gpus < processes:
        return
    yield found(
        PROBLEM,
        ALLOCATION,
        processes=processes,
        gpus=gpus,
        where=place_of(world.processes_from),
        commands=(_SAYS.get(launch.kind, "--num_processes {}").format(gpus),),
        evidence=(
            *proofs(world.processes_from),
            Observed.quoted("sbatch", f"{setting.name.partition('.')[2]}: {setting.text}"),
        ),
    )


def explain(hits: Hits) -> Finding:
    """With the parallel size and the GPUs where log or context tell them."""
    size = next(
        (
            hits.config[name]
            for name in ("tp", "tp_size", "tensor_parallel_size", "nproc_per_node")
            if name in hits.config
        ),
        None,
    )
    return found(
        PROBLEM,
        AMD if hits.get("amd") else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        size=size or "",
    )
