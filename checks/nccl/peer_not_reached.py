"""NCCL could not connect to another rank's socket.

## What it means
Ranks exchange addresses and then connect to each other directly. The address that a rank gave is that of the
interface NCCL chose there: a docker bridge, a link-local or a management network cannot be reached from the
other machine, or a firewall closes the (random) ports. A refused connection may also mean that the other rank
has died.
## What it does to a run
Communication is never set up: every rank fails or waits until the time-out.
## What to do
Name the interface, open the ports between the nodes, and look at the other rank.
## How it is found
In a log: by the warning of NCCL, which names address and reason.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
https://github.com/sgl-project/sglang/issues/3820
https://github.com/NVIDIA/nccl/issues/975
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC018", name="nccl-peer-not-reached", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:socket(?:Start|Poll|Finalize)Connect|NCCL WARN)(?:: | )(?:Net ?: )?[Cc]onnect to (?P<peer>[\w.:"
        r"%\-]{1,80})<\d{1,5}> (?:failed ?: ?|returned (?:\d{1,4}\()?)(?P<why>No route to host|"
        r"Connection refused|Connection timed out|Network is unreachable|Software caused "
        r"connection abort|Invalid argument|Cannot assign requested address|Connection reset by "
        r"peer)(?!, retrying \([12]?\d/)"
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "NCCL could not connect to `{peer}`: {why}",
        "The other rank gave that address, of the network interface which NCCL chose on its "
        "machine, and this one cannot reach it: a wrong interface (docker bridge, link-local, "
        "management network), a firewall between the nodes, or, where the connection is refused, "
        "a rank that has already died.",
        "Set `NCCL_SOCKET_IFNAME` (and `GLOO_SOCKET_IFNAME`) to the interface that joins the "
        "nodes, on every node (`ip -br addr`), try `ping {peer}` and `nc -zv {peer} PORT`, open "
        "all TCP ports between the nodes in the firewall, and read the log of the rank at that "
        "address for an earlier failure.",
    ),
    zh=Words(
        "NCCL 无法连接 `{peer}`:{why}",
        "对方 rank 给出的是其机器上 NCCL 所选网卡的地址,而本机无法到达:选错网卡(docker 网桥、"
        "链路本地、管理网),节点间有防火墙;若是连接被拒绝,也可能对方 rank 已经退出。",
        "在每个节点上把 `NCCL_SOCKET_IFNAME`(以及 `GLOO_SOCKET_IFNAME`)设为连接各节点的网卡(`ip "
        "-br addr`),尝试 `ping {peer}` 和 `nc -zv {peer} PORT`,在防火墙中放开节点间的所有 TCP "
        "端口,并查看该地址上 rank 的日志是否有更早的失败。",
    ),
)
