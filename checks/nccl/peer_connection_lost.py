"""A rank lost its connection to another rank.

## What it means
The other process ended or its machine went away; this one only noticed it.
## What it does to a run
The rank ends, and its words often hide those of the rank that failed first.
## What to do
Read the log of the other rank.
## How it is found
Words of NCCL, gloo and TCPStore about closed connections.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC015", name="peer-connection-lost", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ncclRemoteError: A call failed possibly due to a network error or a remote process"
        r" exiting prematurely",
        symptom_of=("*",),
    ),
    Signature(r"socketProgress: Connection closed by remote peer (?P<peer>[\w.:<>\-]{1,80})", symptom_of=("*",)),
    Signature(
        r"gloo/transport/tcp/pair\.cc:\d{1,5}\] (?:Connection closed by peer|Read error|Write"
        r" error|writev) ?\[(?P<peer>[\w.:]{1,60})\]",
        symptom_of=("*",),
    ),
    Signature(r"Failed to recv, got 0 bytes\. Connection was likely closed", symptom_of=("*",)),
)

LOG_MESSAGE = Message(
    en=Words(
        "a rank lost its connection to another process{peer}",
        "The other process or its node closed the connection: it failed, was killed or timed out "
        "first. This rank only waited for it, so its message is the consequence.",
        "Read the log of the other rank or node for the first failure (exit code, Killed, time-out "
        "of its watchdog, slow loading). If no rank failed, the network dropped the connection: "
        "check links and firewalls, `NCCL_SOCKET_IFNAME`, and raise the process-group time-out where "
        "one node is much slower than the other.",
    ),
    zh=Words(
        "一个 rank 与另一进程{peer}的连接断开",
        "对方进程或其节点关闭了连接:它先失败、被终止或超时。本 rank 只是在等待,其报错是后果。",
        "在另一个 rank 或节点的日志中查找最先的失败(退出码、Killed、watchdog 超时、加载过慢)。若没有 "
        "rank 失败,则是网络断开:检查链路与防火墙、`NCCL_SOCKET_IFNAME`,若某节点慢得多则增大进程组超时"
        "。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the peer where the line names it."""
    peer = (hits.get("peer") or "").partition("<")[0]
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        peer=f" ({peer})" if peer else "",
    )
