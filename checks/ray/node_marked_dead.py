"""Ray gave up a node that did not answer its health checks.

## What it means
The head asks every node (its raylet) every few seconds whether it lives. A node that misses several answers in a row is
marked dead; its raylet ends itself when it hears of that, with all workers on it.
## What it does to a run
Every actor on that node dies at once, and the job with them.
## What to do
Find out why the raylet could not answer: load, memory, a network that the head cannot reach.
## How it is found
In a log: by the word of the raylet or the head.
## References
https://github.com/ray-project/ray/issues/28562
https://github.com/ray-project/ray/issues/59193
https://docs.ray.io/en/latest/ray-core/fault_tolerance/nodes.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY023", name="ray-node-marked-dead", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Exiting because this node manager has (?:mistakenly )?been marked as dead by the GCS",
        symptom_of=("MEM", "HST", "RAY002", "RAY006", "LCH"),
    ),
    Signature(
        r"\bNode [0-9a-f]{20,64} is dead because the health check failed",
        symptom_of=("MEM", "HST", "RAY002", "RAY006", "LCH"),
        kind="warning",  # the head writes it as one
    ),
    Signature(
        r"(?P<crashed>Owner's node has crashed|NodeDiedError: Task failed due to the node"
        r"|ActorUnschedulableError: [^\n]{0,60}The node specified via NodeAffinitySchedulingStrategy doesn't exist)",
        symptom_of=("MEM", "HST", "RAY002", "RAY006", "RAY013", "RAY018", "LCH", "GPU", "CKP"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a Ray node did not answer the head's health checks and was given up",
        "Its raylet still ran, but too slowly, or the head could not reach it. Usual reasons: host memory nearly "
        "full (swapping), all CPUs taken by rollout or reward workers, a slow network disk under /tmp/ray, a node "
        "whose address only it itself can reach (NAT, WSL2, containers without the host's network), a firewall.",
        "On that node look at memory and load of that minute (`dmesg -T | grep -i killed`, `sar`) and at "
        "raylet.out in /tmp/ray/session_latest/logs. Leave CPUs and memory to Ray (fewer reward and data workers, "
        "`--num-cpus` below the machine's), keep /tmp/ray on a local disk, check that the head reaches the node's "
        "address and ports (`ray start --node-ip-address=...`). To be more patient, on the head before `ray "
        "start`: `export RAY_health_check_timeout_ms=30000 RAY_health_check_failure_threshold=20`.",
    ),
    zh=Words(
        "一个 Ray 节点没有回应 head 的健康检查,已被放弃",
        "它的 raylet 仍在运行,但太慢,或 head 无法到达。常见原因:主机内存几乎用尽(换页)、rollout 或奖励进程占满所有 "
        "CPU、/tmp/ray 位于缓慢的网络磁盘、节点地址只有自己可达(NAT、WSL2、未使用主机网络的容器)、防火墙。",
        "在该节点查看那一分钟的内存与负载(`dmesg -T | grep -i killed`、`sar`)以及 /tmp/ray/session_latest/logs 中的"
        " raylet.out。给 Ray 留出 CPU 与内存(减少奖励与数据进程,`--num-cpus` 小于机器核数),把 /tmp/ray 放在本地磁盘"
        ",确认 head 能到达该节点的地址与端口(`ray start --node-ip-address=...`)。若要更宽容,在 head 上 `ray start` "
        "之前:`export RAY_health_check_timeout_ms=30000 RAY_health_check_failure_threshold=20`。",
    ),
)

CRASHED = Message(
    en=Words(
        "a Ray node went away while actors or tasks needed it",
        "It is the node of the task, of the actor, or of the process that created them. Its raylet ended or was not "
        "heard any more, so Ray ended what depended on it. The log holds the consequence only: host memory that ran "
        "out (the kernel may end the raylet itself), a full disk under /tmp/ray, `ray stop`, a pod or job that was "
        "taken away, or a machine too busy to answer.",
        "On that node look at `dmesg -T | grep -i -E 'killed|oom'` and at the end of raylet.out and gcs_server.out in "
        "/tmp/ray/session_latest/logs. Give the job more host memory or take less (fewer data and reward workers, no "
        "CPU offload, a smaller object store), and keep the driver where nothing ends it (`ray job submit`).",
    ),
    zh=Words(
        "actor 或任务所需的一个 Ray 节点消失了",
        "它是任务、actor 或其创建者所在的节点。其 raylet 已结束或不再应答,于是 Ray 结束了依赖它的一切。日志中只有后果:"
        "主机内存耗尽(内核可能杀掉 raylet 本身)、/tmp/ray 所在磁盘已满、`ray stop`、pod 或作业被回收,"
        "或机器过忙无法应答。",
        "在该节点查看 `dmesg -T | grep -i -E 'killed|oom'`,以及 /tmp/ray/session_latest/logs 中 raylet.out 与 "
        "gcs_server.out 的末尾。为作业提供更多主机内存或减少占用(减少数据与奖励进程,不用 CPU offload,减小 object "
        "store),并让 driver 运行在不会被结束的地方(`ray job submit`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The word of the node itself counts more than that of an actor that lost it."""
    own = any(not hit.groups.get("crashed") for hit in hits)
    return found(
        PROBLEM,
        LOG_MESSAGE if own else CRASHED,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )
