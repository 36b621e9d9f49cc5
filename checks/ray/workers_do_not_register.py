"""Ray's workers do not register in time.

## What it means
Ray starts one worker per CPU that it sees at once. Where Slurm or a container allots fewer, they starve each other.
## What it does to a run
ray.init seems to hang, with no error.
## What to do
Tell Ray the number of CPUs.
## How it is found
The raylet's message.
## References
https://docs.ray.io/en/latest/cluster/vms/user-guides/community/slurm.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY007", name="ray-workers-do-not-register", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Some workers of the worker process(?:\(\d{1,10}\)| \d{1,10}) have not registered within"
        r" the timeout",
    ),
    Signature(r"Failed to register worker (?:\w{1,80} )?to Raylet"),
    Signature(r"^\s{2,8}(?P<package>Ray|Python): (?P<release>\d[\w.+]{1,20})$", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "worker processes of Ray did not start in time or could not register with the raylet",
        "Ray starts one worker per CPU that it sees, all at once. Under Slurm or in a container it "
        "sees every core of the node, while the job is allotted a few, so hundreds of workers starve "
        "on those cores. A very slow file system for the environment, a raylet that ended (raylet.out and "
        "raylet.err in the session folder), or another version of Ray there has the same effect.",
        "Tell Ray what is allotted: `ray.init(num_cpus=...)` with `$SLURM_CPUS_PER_TASK`, `ray start "
        "--num-cpus`, in veRL `ray_kwargs.ray_init.num_cpus=$SLURM_CPUS_PER_TASK` (older: "
        "`ray_init.num_cpus`). Keep the environment on a local disk; "
        "`RAY_worker_register_timeout_seconds=600` gives more time.",
    ),
    zh=Words(
        "Ray 工作进程未能及时启动,或无法向 raylet 注册",
        "Ray 会按其看到的每个 CPU 同时启动一个工作进程。在 Slurm 或容器中它看到整个节点的核,而作业只"
        "分到少数几个,于是数百个进程争抢。环境所在文件系统过慢、raylet 已退出(见会话目录的 raylet.out 与 "
        "raylet.err)或其 Ray 版本不同也会如此。",
        "告诉 Ray 实际分配的数量:`ray.init(num_cpus=...)` 使用 `$SLURM_CPUS_PER_TASK`、`ray start "
        "--num-cpus`,veRL 中 `ray_kwargs.ray_init.num_cpus=$SLURM_CPUS_PER_TASK`(旧版 "
        "`ray_init.num_cpus`)。环境放在本地盘;`RAY_worker_register_timeout_seconds=600` 可延长等待。",
    ),
)

MISMATCH = Message(
    en=Words(
        "a process of another Ray or Python cannot register with the cluster: {theirs} there, {ours} here",
        "Ray warned of a version mismatch before. The two speak different protocols, and their files in /tmp/ray "
        "differ, so the raylet does not know the process. A cluster of another environment still runs on this node, "
        "or `RAY_ADDRESS` leads to it.",
        "`ray stop --force` on every node and start the cluster from the environment of the command; or install the "
        "cluster's `ray==` and Python there. On a shared node start a cluster of your own: `unset RAY_ADDRESS`, "
        "another `--port` and `--temp-dir`.",
    ),
    zh=Words(
        "Ray 或 Python 版本不同的进程无法向集群注册:集群 {theirs},本进程 {ours}",
        "Ray 此前已警告版本不一致。两者协议不同,/tmp/ray 中的文件也不同,raylet 因而不认识该进程。本节点上仍运行着另一"
        "环境的集群,或 `RAY_ADDRESS` 指向了它。",
        "在每个节点 `ray stop --force`,再从命令所在的环境启动集群;或在该环境安装与集群相同的 `ray==` 与 Python。共用节"
        "点时启动自己的集群:`unset RAY_ADDRESS`,使用不同的 `--port` 与 `--temp-dir`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """The two versions, where Ray named them and they differ by more than a patch of Python."""
    if all(hit.groups.get("package") for hit in hits):
        return None
    told = [(hit.groups["package"], hit.groups["release"]) for hit in hits if hit.groups.get("package")][:4]
    differ = len(told) == 2 * len(_PAIR) and tuple(each for each, _ in told) == 2 * _PAIR and (
        told[0] != told[2] or told[1][1].split(".")[:2] != told[3][1].split(".")[:2]
    )  # fmt: skip
    return found(
        PROBLEM, MISMATCH if differ else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        theirs=_named(told[:2]), ours=_named(told[2:]),
    )  # fmt: skip


_PAIR = ("Ray", "Python")  # the order in which Ray names them, of the cluster and then of the process


def _named(told: list[tuple[str, str]]) -> str:
    return ", ".join(f"{package} {release}" for package, release in told)
