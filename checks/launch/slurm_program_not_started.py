"""Slurm could not start the command on a node.

## What it means
`srun` starts the command without a login shell: what `.bashrc` puts into PATH is missing, and so is a conda
environment that the batch script did not activate, or that lies on a disk which this node does not have. A script
without the bit that makes it executable is refused.
## What it does to a run
The task ends at once with exit code 2 (not found) or 13 (no permission); nothing of the training ran.
## What to do
Activate the environment in the batch script, or name the program by its full path.
## How it is found
In a log: by the words of slurmstepd.
## References
https://github.com/CSCfi/pytorch-ddp-examples/issues/1
https://github.com/huggingface/accelerate/issues/3237
https://github.com/elyall/wandb_on_slurm/issues/5
https://slurm.schedmd.com/srun.html
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH034", name="slurm-program-not-started", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"slurmstepd: error: execve\(\): (?P<program>[^\n:]{1,300}): (?P<why>No such file or directory"
        r"|Permission denied|Exec format error|Not a directory)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Slurm found no program `{program}` on the node",
        "`srun` starts commands without a login shell: the environment that holds `{name}` was not "
        "activated in the batch script, the module that brings it does not, the node does not have the disk "
        "where it lies, or the first line of a script names an interpreter that is not there. Nothing of the training "
        "ran.",
        "Activate the environment in the batch script before `srun` (`source ~/miniconda3/bin/activate "
        "ENV`, `module load ...`), or give the full path (`srun $(which {name}) ...`); `srun bash -lc "
        "'which {name}'` shows what the nodes see. `python -m torch.distributed.run` and `python -m "
        "accelerate.commands.launch` need only the right python. In a container start it there (`srun "
        "--container-image=... {name}`, `srun singularity exec ...`).",
    ),
    zh=Words(
        "Slurm 在节点上找不到程序 `{program}`",
        "`srun` 不经登录 shell 启动命令:批处理脚本没有激活包含 `{name}` 的环境,所加载的 module 不含它,或"
        "该节点没有它所在的磁盘,或脚本首行指定的解释器不存在。训练没有开始。",
        "在批处理脚本的 `srun` 之前激活环境(`source ~/miniconda3/bin/activate ENV`、`module load ...`),或"
        "写完整路径(`srun $(which {name}) ...`);`srun bash -lc 'which {name}'` 可看节点上有什么。`python "
        "-m torch.distributed.run` 与 `python -m accelerate.commands.launch` 只需要正确的 python。若在容"
        "器中,请在容器里启动(`srun --container-image=... {name}`、`srun singularity exec ...`)。",
    ),
)

LOG_MESSAGE_REFUSED = Message(
    en=Words(
        "Slurm may not run `{program}` on the node",
        "The file is there and is not executable for this user: the bit is missing, the disk is mounted "
        "with noexec, or it was built for another kind "
        "of CPU.",
        "`chmod +x {program}`, or start it through its interpreter (`srun bash {program}`, `srun python "
        "{program}`). Compare `head -1 {program}` and `file {program}` with `uname -m` on the node.",
    ),
    zh=Words(
        "Slurm 无权在节点上运行 `{program}`",
        "文件存在,但该用户不能执行:缺少可执行位,磁盘以 noexec 挂载,或为另一种 CPU 构建。",
        "`chmod +x {program}`,或通过解释器启动(`srun bash {program}`、`srun python {program}`)。将 `head "
        "-1 {program}`、`file {program}` 与节点上的 `uname -m` 比较。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A program that is not there, or one that may not be run."""
    program = hits.get("program") or ""
    absent = hits.get("why") in ("No such file or directory", "Not a directory")
    return found(
        PROBLEM,
        LOG_MESSAGE if absent else LOG_MESSAGE_REFUSED,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        program=program,
        name=program.rpartition("/")[2],
        commands=() if absent else (f"chmod +x {program}",),
    )
