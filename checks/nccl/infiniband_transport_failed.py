"""An InfiniBand or RoCE connection of NCCL failed.

## What it means
A completion came back with an error: the peer did not answer, a link or route is down, or the GID chosen for RoCE
is wrong.
## What it does to a run
The collective ends on all ranks.
## What to do
Look at the links, the GID index and at the peer.
## How it is found
NCCL's warnings of its IB transport.
## References
https://github.com/NVIDIA/nccl/issues/2013
https://github.com/uccl-project/uccl/issues/641
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC014", name="infiniband-transport-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"NET/IB ?:? Got completion from peer (?P<peer>[\w.:<>\-]{1,60}) with (?:status|error)["
        r" =]{0,2}(?P<status>[\w()]{1,40})"
    ),
    Signature(r"Call to ibv_modify_qp failed with"),
    Signature(r"(?P<other>Failed to modify (?:QP|qp) to RT[RS])\b"),  # of DeepEP, UCCL, Mooncake
)

LOG_MESSAGE = Message(
    en=Words(
        "{of}InfiniBand or RoCE connection{peer} failed",
        "The network card got no answer, or could not bring the queue pair up: the peer's process "
        "died, a port or cable is down, or on RoCE the chosen GID belongs to a network that does not "
        "reach the peer.",
        "Look first whether the rank at that peer failed on its own. Check `ibstat` and "
        "`ib_write_bw` between the nodes; on RoCE set `NCCL_IB_GID_INDEX=3` (RoCE v2) and the right "
        "cards with `NCCL_IB_HCA`; where only cards of the same number reach each other (rails), "
        "`NCCL_CROSS_NIC=0`; raise `NCCL_IB_TIMEOUT=22`; `NCCL_IB_DISABLE=1` shows whether it works over TCP.",
    ),
    zh=Words(
        "{of_zh} InfiniBand 或 RoCE 连接{peer}失败",
        "网卡没有得到应答,或无法建立队列对:对端进程已退出、端口或线缆断开,或 RoCE 选用的 GID 属于无法到达对端的网络。",
        "先查看对端的 rank 是否自己先失败。用 `ibstat` 与 `ib_write_bw` 检查节点间链路;RoCE 下设置 "
        "`NCCL_IB_GID_INDEX=3`(RoCE v2)并用 `NCCL_IB_HCA` 选对网卡;若只有同号网卡互通(rail),`NCCL_CROSS_NIC=0`;提高 "
        "`NCCL_IB_TIMEOUT=22`;`NCCL_IB_DISABLE=1` 可检验 TCP 是否可用。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With the peer where NCCL names it."""
    other = hits.first.groups.get("other")
    peer = (hits.get("peer") or "").partition("<")[0]
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        peer=f" to {peer}" if peer else "",
        of="an " if other else "NCCL's ",
        of_zh="" if other else "NCCL 的",
    )
