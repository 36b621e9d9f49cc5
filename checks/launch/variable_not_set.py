"""The code reads an environment variable that its process does not have.

## What it means
`os.environ["NAME"]` insists on the variable. It was not exported, not handed on (by Ray, Slurm, sudo, docker, ssh),
or is set by a launcher that was not used or on machines of another kind.
## What it does to a run
It ends with a KeyError at that line.
## What to do
Export it where the process gets its environment from.
## How it is found
In a log: by the KeyError of os.environ.
## References
https://docs.python.org/3/library/os.html#os.environ
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
https://github.com/verl-project/verl/pull/5100
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH048", name="variable-not-set", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^KeyError: '(?P<variable>[A-Z][A-Z0-9_]{2,60})'$",
        frame=r"(?:^|[\\/]|frozen )os(?:\.py)?>?:__getitem__$",
        symptom_of=("LCH", "DSP", "RAY"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the environment variable `{variable}` is not set in the process that reads it",
        "It may be set in your shell and still be missing there: Ray's workers get the environment of `ray start`, "
        "Slurm's steps that of sbatch, and sudo, ssh and docker hand nothing on by themselves. Variables of ranks "
        "come from a launcher (torchrun, accelerate), those of devices exist only on machines of that kind "
        "(ASCEND_*, HIP_*).",
        "`export {variable}=...` before the start on every node. Ray: before `ray start`, or in `runtime_env` "
        "(`env_vars`; veRL `+ray_kwargs.ray_init.runtime_env.env_vars.{variable}=...`); docker: `-e {variable}`; "
        "sudo: `-E`. For a variable of ranks use the launcher; for one of another kind of device upgrade the "
        "library that asks for it.",
    ),
    zh=Words(
        "读取环境变量 `{variable}` 的进程中没有设置它",
        "它可能在你的 shell 中已设置,但在那里仍然缺失:Ray 的 worker 使用 `ray start` 时的环境,Slurm 的 step 使用 "
        "sbatch 的环境,sudo、ssh 与 docker 默认不传递。rank 相关变量由启动器(torchrun、accelerate)设置,设备相关变量"
        "只存在于该类机器上(ASCEND_*、HIP_*)。",
        "在每个节点启动前 `export {variable}=...`。Ray:在 `ray start` 之前,或写入 `runtime_env`(`env_vars`;veRL "
        "`+ray_kwargs.ray_init.runtime_env.env_vars.{variable}=...`);docker:`-e {variable}`;sudo:`-E`。rank 相关变"
        "量请使用启动器;其他设备的变量请升级读取它的库。",
    ),
)

#: what torchrun, accelerate, deepspeed and torch.distributed.launch set for each process they start
OF_LAUNCHERS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})

NO_LAUNCHER = Message(
    en=Words(
        "the script wants `{variable}`, which a launcher sets, and runs without one",
        "It was written for torchrun, accelerate or deepspeed: these start one process for each GPU and tell each "
        "its rank. Started with plain python, or by a scheduler that names ranks otherwise (Slurm: SLURM_PROCID, "
        "SLURM_LOCALID), the variable is missing.",
        "`torchrun --nproc_per_node=NUMBER_OF_GPUS script.py ...` (1 for a single GPU), or `accelerate launch "
        "script.py`. Under srun start torchrun on each node, or set the variables from Slurm's (`export "
        "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS`, and MASTER_ADDR, MASTER_PORT) "
        'within the step. In your own script `int(os.environ.get("LOCAL_RANK", 0))` lets one process run alone.',
    ),
    zh=Words(
        "脚本需要启动器设置的 `{variable}`,却没有用启动器运行",
        "它是为 torchrun、accelerate 或 deepspeed 编写的:它们为每张 GPU 启动一个进程并告知其 rank。直接用 python 启"
        "动,或由以其他名称给出 rank 的调度器启动(Slurm:SLURM_PROCID、SLURM_LOCALID),就没有该变量。",
        "`torchrun --nproc_per_node=GPU数 script.py ...`(单卡为 1),或 `accelerate launch script.py`。在 srun 下,每"
        "个节点启动 torchrun,或在 step 内由 Slurm 变量设置(`export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID "
        "WORLD_SIZE=$SLURM_NTASKS`,以及 MASTER_ADDR、MASTER_PORT)。自己的脚本可写 "
        '`int(os.environ.get("LOCAL_RANK", 0))`,以便单进程运行。',
    ),
)


def explain(hits: Hits) -> Finding:
    """A variable of ranks tells that no launcher started the process."""
    variable = hits.get("variable") or ""
    launched = variable in OF_LAUNCHERS
    return found(
        PROBLEM,
        NO_LAUNCHER if launched else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        variable=variable,
    )
