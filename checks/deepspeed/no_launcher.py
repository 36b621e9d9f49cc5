"""DeepSpeed is started by plain Python, without a launcher.

## What it means
The training names a DeepSpeed configuration, and the command is `python train.py`: the variables that place a
process in its group are not set. DeepSpeed then looks for MPI.
## What it does to a run
`ModuleNotFoundError: No module named 'mpi4py'` while the training arguments are built. With mpi4py it runs as one
process.
## What to do
Start through `accelerate launch`, `torchrun` or `deepspeed`, also for a single GPU.
## How it is found
Kind of the command, `deepspeed` of the training arguments, the environment, and whether mpi4py is installed. Run with
DeepSpeed 0.19.8.
In a log: by the import of mpi4py inside DeepSpeed.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/comm/comm.py
https://huggingface.co/docs/transformers/deepspeed
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="DSP012", name="deepspeed-without-launcher", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ModuleNotFoundError: No module named 'mpi4py'", frame=r"deepspeed/"),
    Signature(r"AssertionError: DeepSpeed requires the LOCAL_RANK environment variable"),
)

LOG_MESSAGE = Message(
    en=Words(
        "DeepSpeed was started by plain `python` and looked for MPI (`mpi4py`)",
        "Without a launcher RANK, WORLD_SIZE and MASTER_ADDR are not set; DeepSpeed then tries to find "
        "its group through MPI, which is not installed. mpi4py is not what is missing.",
        "Start the script with a launcher, also on one GPU: `deepspeed train.py`, `torchrun "
        "--nproc-per-node 1 train.py` or `accelerate launch train.py`.",
    ),
    zh=Words(
        "DeepSpeed 由普通 `python` 启动,转而寻找 MPI(`mpi4py`)",
        "没有启动器就不会设置 RANK、WORLD_SIZE 和 MASTER_ADDR;DeepSpeed 于是尝试通过 MPI 建立进程组,而 "
        "MPI 未安装。真正缺少的不是 mpi4py。",
        "即使只有一张 GPU 也用启动器启动脚本:`deepspeed train.py`、`torchrun --nproc-per-node 1 "
        "train.py` 或 `accelerate launch train.py`。",
    ),
)

LOG_COMMANDS = ("accelerate launch train.py",)

NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK")

MESSAGE = Message(
    en=Words(
        "The training uses DeepSpeed, and the command starts it without a launcher",
        "DeepSpeed finds no rank variables, looks for MPI and ends with `No module named 'mpi4py'`. mpi4py is not what "
        "is missing.",
        "Start through a launcher, also for one GPU.",
    ),
    zh=Words(
        "训练使用 DeepSpeed,而命令没有用启动器",
        "DeepSpeed 找不到 rank 变量,转而寻找 MPI,并以 `No module named 'mpi4py'` 退出。缺的并不是 mpi4py。",
        "用启动器来启动,单卡也一样。",
    ),
)


@check(PROBLEM)
def no_launcher(launch: Launch, training: Training, environment: Environment, packages: Packages | None) -> Judgement:
    """Azure ML, SageMaker and MPI set the variables or have their own ways."""
    setting = training.get("deepspeed")
    if launch.kind != "python" or setting is None or (setting.known and not setting.value):
        return
    if set(launch.wrappers) & {"srun", "mpirun", "mpiexec", "torchrun"}:
        return
    if all(environment.get(name) for name in NEEDED) or environment.get("OMPI_COMM_WORLD_RANK"):
        return
    if packages is not None and "mpi4py" in packages.distributions:
        return
    certain = packages is not None and packages.complete
    script = launch.script.rpartition("/")[2] if launch.script else "SCRIPT"
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        confidence=CONFIRMED if certain else LIKELY,
        commands=(f"accelerate launch --num_processes 1 {script}", f"torchrun --nproc_per_node 1 {script}"),
        evidence=(proof(setting),),
    )
