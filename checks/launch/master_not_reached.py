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
        r" \((?P<host>[^,\n]{1,120}), (?P<port>\d{1,5})\)"
    ),
    Signature(
        r"Timed out after (?P<seconds>\d{1,8}) seconds waiting for clients\."
        r" (?P<came>\d{1,6})/(?P<wanted>\d{1,6}) clients joined"
    ),
    Signature(r"RendezvousConnectionError: The connection to the C10d store has failed"),
    Signature(r"RendezvousTimeoutError\b"),
    Signature(
        r"The client socket has failed to connect to any network address of"
        r" \((?P<host>[^,\n]{1,120}), (?P<port>\d{1,5})\)\.[^\n]{0,200}Connection refused"
    ),
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


def explain(hits: Hits) -> Finding:
    """With the meeting point and the number of ranks that came, where told."""
    host, came, wanted = hits.get("host"), hits.get("came"), hits.get("wanted")
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        at=f" at {host}:{hits.get('port')}" if host else "",
        count=f" ({came} of {wanted} came)" if came else "",
    )
