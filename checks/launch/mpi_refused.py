"""mpirun refuses to start the processes.

## What it means
Open MPI starts no more processes than the slots it was told of (one for each core it may use, or what the hostfile
says), none as root unless allowed, and needs its own daemon on every node.
## What it does to a run
Nothing starts.
## What to do
Tell the slots, or start with torchrun, accelerate or srun.
## How it is found
In a log: by the words of Open MPI.
## References
https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html
https://www.open-mpi.org/faq/?category=running
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH039", name="mpi-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"There are not enough slots available in the system to satisfy the (?P<wanted>\d{1,6})",
    ),
    Signature(
        r"(?:mpirun|mpiexec|prterun) has detected an attempt to run as root",
    ),
    Signature(
        r"(?:ORTE|PRTE|PRRTE) was unable to reliably start one or more daemons|(?:ORTE|PRTE) daemon ha"
        r"s unexpectedly failed after launch",
        symptom_of=("LCH038",),
    ),
    Signature(
        r"(?P<executable>(?:mpirun|mpiexec|prterun) was unable to find the specified executable file|mpirun was unable"
        r" to launch the specified application as it could not access)"
    ),
    Signature(r"^Node: {1,10}(?P<node>[\w.\-]{1,80}) {1,10}Executable: (?P<path>\S{1,200})", kind="sign"),
    Signature(
        r'The application appears to have been direct launched using "srun",',
    ),
)

_PMI = 5  # position of srun's words
SLOTS = Message(
    en=Words(
        "mpirun was asked for {wanted} processes and knows of fewer slots",
        "Without a hostfile Open MPI counts the cores it may use (in a container or a Slurm step often "
        "few); with one, what `slots=` says. GPUs do not count.",
        "Say how many each node takes: `mpirun -np N --host node1:8,node2:8 ...`, or `slots=8` in the "
        "hostfile; `--oversubscribe` where fewer cores than processes are in order. Under Slurm ask for "
        "`--ntasks-per-node` as many.",
    ),
    zh=Words(
        "mpirun 被要求启动 {wanted} 个进程,而它知道的 slot 更少",
        "没有 hostfile 时 Open MPI 按可用的 CPU 核数计算(容器或 Slurm step 中常常很少);有 hostfile 时按 "
        "`slots=`。GPU 不计入。",
        "说明每个节点的数量:`mpirun -np N --host node1:8,node2:8 ...`,或在 hostfile 中写 `slots=8`;核数少"
        "于进程数也可以时加 `--oversubscribe`。Slurm 下申请相同的 `--ntasks-per-node`。",
    ),
)

ROOT = Message(
    en=Words(
        "mpirun does not start as root",
        "Open MPI refuses it unless it is allowed in so many words, for a mistake could harm the system. "
        "In containers it is in order.",
        "`mpirun --allow-run-as-root ...`, or `export OMPI_ALLOW_RUN_AS_ROOT=1 "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1`; or run as another user.",
    ),
    zh=Words(
        "mpirun 不以 root 身份启动",
        "除非明确允许,Open MPI 会拒绝,以免误操作损害系统。在容器中这样做没有问题。",
        "`mpirun --allow-run-as-root ...`,或 `export OMPI_ALLOW_RUN_AS_ROOT=1 "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1`;或换用其他用户。",
    ),
)

DAEMONS = Message(
    en=Words(
        "mpirun could not start its daemon on another node",
        "It logs in over ssh and starts `orted` (or `prted`) there: the login fails, Open MPI is not in "
        "PATH of a shell without login, is another version, or the node cannot connect back.",
        "`ssh NODE which orted prted` must name the same installation; give `--prefix /path/of/openmpi`, "
        "name the network with `--mca oob_tcp_if_include IF --mca btl_tcp_if_include IF`, and open the "
        "ports between the nodes.",
    ),
    zh=Words(
        "mpirun 无法在另一节点启动其守护进程",
        "它通过 ssh 登录并启动 `orted`(或 `prted`):登录失败,非登录 shell 的 PATH 中没有 Open MPI,版本不同"
        ",或该节点无法回连。",
        "`ssh NODE which orted prted` 应指向同一安装;给出 `--prefix /path/of/openmpi`,用 `--mca "
        "oob_tcp_if_include IF --mca btl_tcp_if_include IF` 指定网卡,并开放节点间端口。",
    ),
)

PMI = Message(
    en=Words(
        "srun started an MPI program, and this Open MPI was built without Slurm's PMI",
        "mpi4py (DeepSpeed reaches for it when it sees variables of MPI or Slurm) starts MPI, which "
        "needs PMI from srun to find the other processes.",
        "`srun --mpi=pmix ...` (`srun --mpi=list` shows what there is), or start with `mpirun` inside of "
        "the job, or keep MPI out: torchrun on each node, and `pip uninstall mpi4py` where nothing else "
        "needs it.",
    ),
    zh=Words(
        "srun 启动了 MPI 程序,而该 Open MPI 没有编入 Slurm 的 PMI",
        "mpi4py(DeepSpeed 见到 MPI 或 Slurm 的变量时会用它)会启动 MPI,后者需要 srun 的 PMI 来找到其他进程。",
        "`srun --mpi=pmix ...`(`srun --mpi=list` 显示可用的),或在作业内用 `mpirun` 启动,或不用 MPI:每个节"
        "点运行 torchrun,且别无他用时 `pip uninstall mpi4py`。",
    ),
)

EXECUTABLE = Message(
    en=Words(
        "mpirun does not find the program on a node{at}",
        "It starts the same path on every node. There is no such file there: the environment (conda, venv) exists on "
        "the first node only or under another path, the shared folder is not mounted, or the name is not in PATH of a "
        "shell without login.",
        "`ssh {node} ls -l {path}` must show it. Make the environment at the same path on all nodes, or put it on "
        "shared storage; give the full path of the interpreter, and `--prefix` and `-x PATH` where the variables are "
        "missing.",
    ),
    zh=Words(
        "mpirun 在某节点上找不到程序{at_zh}",
        "它在每个节点上启动同一路径。该处没有此文件:环境(conda、venv)只在第一个节点上或路径不同,共享目录没有挂载,或非"
        "登录 shell 的 PATH 中没有该名称。",
        "`ssh {node} ls -l {path}` 应能看到它。在所有节点的同一路径建立环境,或放到共享存储;写出解释器的完整路径,缺少变"
        "量时加 `--prefix` 与 `-x PATH`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Slots, root, the daemons on other nodes, or srun without PMI."""
    if all(hit.groups.get("path") for hit in hits):
        return None
    told = {"executable": EXECUTABLE}
    message = SLOTS if hits.of(0) else ROOT if hits.of(1) else PMI if hits.of(_PMI) else hits.choice(told, DAEMONS)
    node, path = hits.get("node"), hits.get("path")
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        wanted=hits.get("wanted") or "?",
        node=node or "NODE",
        path=path or "PATH",
        at=f" (`{node}`): {path}" if node else "",
        at_zh=f"(`{node}`):{path}" if node else "",
    )
