"""Judges accelerate-processes-not-started (ACC007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.allocation import job_gpus
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.words import words_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


IDLE = TOML["idle"]
KINDS = ("multi_gpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm")


@check(PROBLEM, requires=("LCH008",))
def processes_not_started(launch: Launch, world: World, accelerate: AccelerateConfig | None) -> Judgement:
    """A file made for one process is silent while there is one GPU: nobody loses anything."""
    if launch.kind != "accelerate" or any(launch.option(name) for name in KINDS):
        return
    settings = accelerate.settings if accelerate else {}
    number = launch.option("num_processes") or settings.get("num_processes")
    count = whole(number.value) if number else None
    if number is None or count is None or count < 2 or settings.get("mpirun_config.mpirun_hostfile"):
        return
    kind = settings.get("distributed_type")
    if launch.option("cpu"):
        why, commands = "`--cpu`", (f"torchrun --nproc_per_node {count}",)
    elif kind is not None:
        if kind.value not in {"NO", False} or (number.place and len(world.visible_gpus or ()) < 2):
            return
        why, commands = "`distributed_type: NO`", ("distributed_type: MULTI_GPU",)
    elif accelerate is not None:
        return
    elif world.visible_gpus is None:
        yield Skip("the GPUs of this machine cannot be seen")
        return
    elif len(world.visible_gpus) > 1:
        return
    else:
        why, commands = f"{len(world.visible_gpus)} GPU visible", ("--num_processes 1",)
    evidence = proofs(number, kind)
    yield found(PROBLEM, MESSAGE, number=count, why=why, where=place_of(kind), commands=commands, evidence=evidence)


@check(PROBLEM)
def processes_of_one_machine(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """The number of a job's processes that is the number of one machine's GPUs: it counts those of all machines."""
    settings = accelerate.settings if accelerate else {}
    number, machines = (launch.option(name) or settings.get(name) for name in ("num_processes", "num_machines"))
    asked = job_gpus(launch)
    if launch.kind != "accelerate" or number is None or machines is None or asked is None:
        return
    count, many = whole(number.value), whole(machines.value)
    if count is None or many is None or many < 2 or count != asked[0] or count < many:
        return
    yield found(
        PROBLEM, IDLE, confidence=LIKELY, where=place_of(number, machines), number=count, machines=many,
        each=count // many, gpus=count, all=count * many, evidence=proofs(number, machines, asked[1]),
        commands=(f"--num_processes {count * many}",),
    )  # fmt: skip
