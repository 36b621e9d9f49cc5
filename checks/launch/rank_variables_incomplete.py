"""Some of the variables that place a process in its group are set, and others are missing.

## What it means
LOCAL_RANK is set, so Accelerate takes the process for one of several, but RANK, WORLD_SIZE, MASTER_ADDR or MASTER_PORT
is missing. A shell that was left over from a launcher, or a hand-written start script, is the usual source.
## What it does to a run
It ends with `Error initializing torch.distributed using env:// rendezvous: environment variable ... expected`.
## What to do
Start through a launcher, which sets all of them, or unset LOCAL_RANK for a single process.
## How it is found
The environment of a command that starts Python without a launcher.
## References
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(id="LCH013", name="rank-variables-incomplete", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"environment variable (?P<variable>RANK|LOCAL_RANK|MASTER_ADDR|MASTER_PORT|WORLD_SIZE)"
        r" expected, but not set"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the process group was asked for and `{variable}` is not set",
        "`init_process_group` with `env://` reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, "
        "which a launcher sets. The script was started with plain python, or the launcher's "
        "variables did not reach it.",
        "Start it with `torchrun --nproc_per_node N script.py` or `accelerate launch script.py`. For "
        "a single process set `RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=localhost "
        "MASTER_PORT=29500`; under srun derive them from SLURM_PROCID and SLURM_NTASKS.",
    ),
    zh=Words(
        "请求建立进程组,但未设置 `{variable}`",
        "`init_process_group` 使用 `env://` 时读取由启动器设置的 RANK、WORLD_SIZE、MASTER_ADDR 与 "
        "MASTER_PORT。脚本是用普通 python 启动的,或启动器的变量没有传到。",
        "用 `torchrun --nproc_per_node N script.py` 或 `accelerate launch script.py` 启动。单进程可设"
        " `RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=localhost MASTER_PORT=29500`;srun 下由 "
        "SLURM_PROCID 与 SLURM_NTASKS 得出。",
    ),
)

NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

MESSAGE = Message(
    en=Words(
        "`LOCAL_RANK={local_rank}` is set, but {missing} is not",
        "Accelerate takes the process for one of a group because of `LOCAL_RANK`, and joining the group fails: "
        "`environment variable {first} expected, but not set`.",
        "Start through a launcher, or unset `LOCAL_RANK` for a single process.",
    ),
    zh=Words(
        "设置了 `LOCAL_RANK={local_rank}`,却没有设置 {missing}",
        "Accelerate 因 `LOCAL_RANK` 把该进程当成进程组的一员,加入进程组时失败:"
        "`environment variable {first} expected, but not set`。",
        "用启动器来启动;只要单进程时,取消设置 `LOCAL_RANK`。",
    ),
)


@check(PROBLEM)
def rank_variables_incomplete(launch: Launch, environment: Environment, training: Training) -> Judgement:
    """Launchers set the variables themselves, so only plain Python with a trainer counts."""
    local_rank = environment.get("LOCAL_RANK")
    if launch.kind != "python" or training.trainer is None or local_rank in {None, "", "-1"}:
        return
    if {"srun", "mpirun", "mpiexec"} & set(launch.wrappers):
        return
    missing = [name for name in NEEDED if not environment.get(name)]
    if missing:
        yield found(
            PROBLEM,
            MESSAGE,
            local_rank=local_rank,
            missing=", ".join(f"`{name}`" for name in missing),
            first=missing[0],
            commands=("unset LOCAL_RANK",),
            evidence=(Evidence("environment", f"LOCAL_RANK={local_rank}"),),
        )


def explain(hits: Hits) -> Finding | None:
    """None where colocated vLLM asked for it: there the remedy is another."""
    if any("/vllm/" in frame for hit in hits for frame in hit.frames):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), variable=hits.get("variable"))
