"""The rank 0 of the run could not be reached in time.

## What it means
A TCPStore client found nobody at the master's address and port, or not all ranks came.
## What it does to a run
The ranks that wait end after their time-out.
## What to do
Start all nodes, with the same address and port, reachable through firewalls.
## How it is found
Time-outs of torch's TCPStore and of torchrun's rendezvous.
## References
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH020", name="master-not-reached", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The client socket has timed out after (?P<after>\d{1,10} ?m?s) while trying to connect to"
        r" \((?P<host>[^,\n]{1,120}), (?P<port>\d{1,5})\)",
        symptom_of=("TRL055",),
    ),
    Signature(
        r"Timed out after (?P<seconds>\d{1,8}) seconds waiting for clients\."
        r" (?P<came>\d{1,6})/(?P<wanted>\d{1,6}) clients joined"
    ),
    # said as well on a node whose partner has ended with a failure of its own: the store ends with the first node
    Signature(r"RendezvousConnectionError: The connection to the C10d store has failed", symptom_of=("*",)),
    Signature(r"RendezvousTimeoutError\b"),
    Signature(
        r"The client socket has failed to connect to any network address of"
        r" \((?P<host>[^,\n]{1,120}), (?P<port>\d{1,5})\)\.[^\n]{0,200}Connection refused"
    ),
    Signature(r"(?P<static>master_addr is only used for static rdzv_backend)", kind="sign"),
    Signature(r"--rdzv-backend=c10d --rdzv-endpoint=(?P<standalone>localhost:0)\b", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the ranks did not find each other{at}{count}",
        "A rank waited at the meeting point in vain: the process that should listen there (rank 0, "
        "node rank 0) was not started, failed before, has another address or port, or a firewall "
        "lies between; or another number of nodes and processes was told than was started.",
        "Look first for a failure on node 0. Then check that every node has the same "
        "`MASTER_ADDR`/`--rdzv-endpoint`, `MASTER_PORT`, `--nnodes` and its own `--node_rank`, that "
        "`nc -vz HOST PORT` succeeds from the other nodes, and that a slow start does not exceed the "
        "time-out (`init_process_group(timeout=...)`, `--rdzv-conf join_timeout=1200`).",
    ),
    zh=Words(
        "各 rank 没有会合{at}{count}",
        "某个 rank 在会合点空等:本应监听的进程(rank 0、node rank 0)没有启动、先行失败、地址或端口不同"
        ",或被防火墙阻断;也可能声明的节点数与进程数与实际启动的不同。",
        "先查看 node 0 是否失败。再确认每个节点的 `MASTER_ADDR`/`--rdzv-endpoint`、`MASTER_PORT`、"
        "`--nnodes` 相同且 `--node_rank` 各异,其他节点上 `nc -vz HOST PORT` 成功,并且慢启动没有超过超"
        "时(`init_process_group(timeout=...)`、`--rdzv-conf join_timeout=1200`)。",
    ),
)

LOG_MESSAGE_LOCAL = Message(
    en=Words(
        "the nodes did not meet: torchrun was not told where, and each waited on its own machine",
        "{local} So every node opened a meeting point of its own and waited there for the others.",
        "Give all nodes the same `--rdzv-backend c10d --rdzv-endpoint IP_OF_NODE_0:29500 --rdzv-id 1 --nnodes N` "
        "(drop `--standalone`), or use the static way: `--nnodes N --node_rank K --master_addr IP_OF_NODE_0 "
        "--master_port 29500` without `--rdzv-backend`. Then `nc -vz IP_OF_NODE_0 29500` must succeed from the "
        "other nodes.",
    ),
    zh=Words(
        "各节点没有会合:没有告诉 torchrun 会合地点,每个节点都在自己的机器上等待",
        "{local_zh}因此每个节点各自开了会合点并在那里等待其他节点。",
        "所有节点使用相同的 `--rdzv-backend c10d --rdzv-endpoint IP_OF_NODE_0:29500 --rdzv-id 1 --nnodes N`(去掉 "
        "`--standalone`),或用静态方式:`--nnodes N --node_rank K --master_addr IP_OF_NODE_0 --master_port 29500`,不带 "
        "`--rdzv-backend`。之后其他节点上 `nc -vz IP_OF_NODE_0 29500` 应成功。",
    ),
)
_STATIC = (
    (
        "With `--rdzv-backend c10d` the options `--master_addr` and `--master_port` count for nothing, and "
        "`--rdzv-endpoint` was not given."
    ),
    "使用 `--rdzv-backend c10d` 时 `--master_addr` 和 `--master_port` 不起作用,而 `--rdzv-endpoint` 没有给出。",
)
_STANDALONE = (
    "`--standalone` is for one machine: it overrides `--master_addr` and `--rdzv-endpoint` with `localhost:0`.",
    "`--standalone` 只用于单机:它用 `localhost:0` 覆盖 `--master_addr` 和 `--rdzv-endpoint`。",
)

LOG_MESSAGE_DOCKER = Message(
    en=Words(
        "the meeting point {host}:{port} is the address of a docker bridge, which other machines cannot reach",
        "The process that opened the group told the others the address of the first network card it found, and in "
        "a container that is the bridge docker0. On one host it works, between hosts nobody comes.",
        "Run the containers with `--network host`, or tell the program the card that joins the nodes: start Ray with "
        "`--node-ip-address=IP_OF_THE_HOST` on every node, set `MASTER_ADDR` to that of node 0, and "
        "`NCCL_SOCKET_IFNAME` and `GLOO_SOCKET_IFNAME` to its name (`ip -br addr`); for vLLM `VLLM_HOST_IP`.",
    ),
    zh=Words(
        "会合点 {host}:{port} 是 docker 网桥的地址,其他机器无法到达",
        "打开进程组的进程把它找到的第一块网卡的地址告诉了其他进程,而在容器中那是 docker0 网桥。同一主机上可行,"
        "跨主机则无人能来。",
        "用 `--network host` 运行容器,或告诉程序连接各节点的网卡:每个节点启动 Ray 时用 `--node-ip-address=主机IP`,"
        "`MASTER_ADDR` 设为 node 0 的地址,`NCCL_SOCKET_IFNAME` 与 `GLOO_SOCKET_IFNAME` 设为其网卡名(`ip -br addr`);"
        "vLLM 用 `VLLM_HOST_IP`。",
    ),
)

LOG_MESSAGE_ABSENT = Message(
    en=Words(
        "only {came} of {wanted} processes came to the meeting point within {seconds} s",
        "Rank 0 was there and waited; the others were not started, failed before they came, still loaded something, "
        "or have another address or port. Trainers that talk to engines (OpenRLHF, TRL with a vLLM server) count the "
        "engine's processes in this group: an engine that died or hangs is one that does not come.",
        "Look for the earliest failure in the logs of the processes that are missing: vLLM engines first, then other "
        "nodes. Check that as many processes were started as were told (`--nnodes`, `--nproc_per_node`; number of "
        "engines times their tensor-parallel size), and that the port of rank 0 is open between the nodes.",
    ),
    zh=Words(
        "在 {seconds} 秒内,{wanted} 个进程中只有 {came} 个到达会合点",
        "rank 0 已到并一直等待;其余进程没有启动、到达前已失败、仍在加载,或使用了别的地址、端口。与推理引擎通信的训练框"
        "架(OpenRLHF、使用 vLLM 服务的 TRL)把引擎的进程也算在该组内:引擎死亡或挂住,就不会来。",
        "在缺席进程的日志中找最早的失败:先看 vLLM 引擎,再看其他节点。确认启动的进程数与声明的一致(`--nnodes`、"
        "`--nproc_per_node`;引擎数乘以其张量并行大小),并确认 rank 0 的端口在节点间是开放的。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """With the meeting point and the number of ranks that came, where told."""
    if all(hit.groups.get("static") or hit.groups.get("standalone") for hit in hits):
        return None
    alone = hits.choice({"standalone": _STANDALONE, "static": _STATIC}, None)
    if alone and not hits.get("host") and not hits.get("came"):
        return found(
            PROBLEM, LOG_MESSAGE_LOCAL, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, local=alone[0],
            local_zh=alone[1],
        )  # fmt: skip
    host, came, wanted = hits.get("host"), hits.get("came"), hits.get("wanted")
    return found(
        PROBLEM,
        LOG_MESSAGE_DOCKER if (host or "").startswith("172.17.") else LOG_MESSAGE_ABSENT if came else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        at=f" at {host}:{hits.get('port')}" if host else "",
        count=f" ({came} of {wanted} came)" if came else "",
        host=host or "",
        port=hits.get("port") or "",
        came=came or "",
        wanted=wanted or "",
        seconds=hits.get("seconds") or "",
    )
