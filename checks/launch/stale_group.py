"""The environment says that this single process is one of several.

## What it means
RANK, WORLD_SIZE, LOCAL_RANK and the meeting point are all set, WORLD_SIZE is above one, and the command starts one
Python process without a launcher. The variables usually come from a job's shell that was left open.
## What it does to a run
The process waits for ranks that nobody starts, prints nothing, and ends with a time-out after many minutes.
## What to do
Start through a launcher, or unset the variables for a single process.
## How it is found
The environment of a command that starts Python without a launcher.
## References
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import whole
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(id="LCH017", name="stale-group", severity=WARNING, since="0.1")

NEEDED = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")

MESSAGE = Message(
    en=Words(
        "`WORLD_SIZE={size}` is set, and the command starts one process without a launcher",
        "The process waits for {others} more ranks, prints nothing, and ends with a time-out. If you start the "
        "other ranks by hand, this is in order.",
        "Start through a launcher, or unset the variables for a single process.",
    ),
    zh=Words(
        "设置了 `WORLD_SIZE={size}`,而命令没有用启动器,只启动一个进程",
        "该进程会等待另外 {others} 个 rank,不输出任何内容,最后超时退出。如果其余 rank 由你手动启动,则没有问题。",
        "用启动器来启动;只要单进程时,取消设置这些变量。",
    ),
)


@check(PROBLEM)
def stale_group(launch: Launch, environment: Environment, training: Training) -> Judgement:
    """Slurm's and MPI's launchers give the variables for good reason."""
    size = whole(environment.get("WORLD_SIZE"))
    if launch.kind != "python" or training.trainer is None or size is None or size < 2:
        return
    by_hand = launch.wrappers or {"RANK", "WORLD_SIZE"} & set(environment.from_command)
    slurm = environment.get("SLURM_PROCID") or environment.get("OMPI_COMM_WORLD_RANK") or environment.get("PMI_RANK")
    if by_hand or slurm or not all(environment.get(name) for name in NEEDED):
        return
    evidence = tuple(Evidence("environment", f"{name}={environment.get(name)}") for name in ("WORLD_SIZE", *NEEDED))
    yield found(
        PROBLEM,
        MESSAGE,
        size=size,
        others=size - 1,
        confidence=LIKELY,
        commands=("unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT",),
        evidence=evidence,
    )
