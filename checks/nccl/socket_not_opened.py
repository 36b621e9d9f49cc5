"""NCCL could not open a socket of its own on this machine.

## What it means
Before it moves data, NCCL opens listening sockets on the address of the chosen interface and exchanges their ports. The
kernel refused: the address is not one of this machine (or not usable yet), or no free port is left.
## What it does to a run
The process group does not come up, or a later group fails in the middle of a run.
## What to do
Choose the interface by name, or free ports.
## How it is found
In a log: by NCCL's warning about the system call.
## References
https://github.com/NVIDIA/nccl/issues/293
https://github.com/NVIDIA/nccl/blob/master/src/misc/socket.cc
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NCC031", name="nccl-socket-not-opened", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"NCCL WARN (?:\S{1,40} ?: )?Call to (?:bind|listen) failed ?: (?P<reason>Address already in use"
        r"|Cannot assign requested address)"
    ),
)

IN_USE = Message(
    en=Words(
        "NCCL found no free port to listen on",
        "It asks the kernel for any free port of the interface's address. None was left: very many connections of "
        "this machine (rollout servers, agents, tools, sockets of ended runs in TIME_WAIT) use up the range of "
        "short-lived ports, the range is narrow, or `NCCL_COMM_ID` forces a port that is taken.",
        "Look at `ss -s` and `cat /proc/sys/net/ipv4/ip_local_port_range`; widen the range (`sysctl -w "
        "net.ipv4.ip_local_port_range='15000 65000'`), let HTTP clients keep connections instead of opening one "
        "for each request, end left-over processes, unset `NCCL_COMM_ID`. With docker's own network each container "
        "has its own range.",
    ),
    zh=Words(
        "NCCL 找不到可监听的空闲端口",
        "它向内核请求接口地址上的任意空闲端口,但已没有:本机连接过多(rollout 服务、agent、工具、已结束任务处于 "
        "TIME_WAIT 的套接字)用尽了临时端口范围,范围太窄,或 `NCCL_COMM_ID` 指定了被占用的端口。",
        "查看 `ss -s` 与 `cat /proc/sys/net/ipv4/ip_local_port_range`;扩大范围(`sysctl -w "
        "net.ipv4.ip_local_port_range='15000 65000'`),让 HTTP 客户端复用连接而不是每次新建,结束残留进程,取消 "
        "`NCCL_COMM_ID`。使用 docker 自己的网络时每个容器有独立的端口范围。",
    ),
)

NO_ADDRESS = Message(
    en=Words(
        "NCCL chose an address that cannot be used on this machine",
        "The interface that it picked (or that `NCCL_SOCKET_IFNAME` names) has an address that the kernel does not "
        "let a socket use: a link-local IPv6 address, an interface that is down or was renamed, an address of "
        "another machine in `NCCL_COMM_ID` or `MASTER_ADDR`, a container without that interface.",
        "Name the interface that joins the nodes, `export NCCL_SOCKET_IFNAME=eth0` (see `ip -4 addr`; also "
        "`GLOO_SOCKET_IFNAME`), and `NCCL_SOCKET_FAMILY=AF_INET` where IPv6 is half set up. In containers use "
        "the host's network.",
    ),
    zh=Words(
        "NCCL 选择了本机无法使用的地址",
        "它选中的(或 `NCCL_SOCKET_IFNAME` 指定的)网卡地址,内核不允许套接字使用:IPv6 链路本地地址,未启用或已改名的网"
        "卡,`NCCL_COMM_ID` 或 `MASTER_ADDR` 中是别的机器的地址,或容器内没有该网卡。",
        "指定连接各节点的网卡:`export NCCL_SOCKET_IFNAME=eth0`(见 `ip -4 addr`;`GLOO_SOCKET_IFNAME` 同理);IPv6 "
        "配置不完整时设 `NCCL_SOCKET_FAMILY=AF_INET`。容器请使用主机网络。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Two refusals of the kernel."""
    message = IN_USE if (hits.get("reason") or "").startswith("Address") else NO_ADDRESS
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
