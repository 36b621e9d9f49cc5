"""NCCL_SOCKET_IFNAME selects no usable interface of this machine.

## What it means
NCCL was told which network interfaces it may use for its own meeting, and none of this machine's matches, or those that
match are down or have no address.
## What it does to a run
The first collective ends with `Bootstrap : no socket interface found`, also where all ranks sit on one machine and the
data would go over NVLink: NCCL always meets over a socket.
## What to do
Name an interface that exists (a beginning is enough: `eth` stands for eth0), or unset the variable and let NCCL choose.
## How it is found
The variable is matched against the interfaces of this machine by NCCL's own rules: list with commas, beginnings,
`=` for whole names, `^` to exclude.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
https://github.com/NVIDIA/nccl/blob/master/src/bootstrap.cc
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import (
    group_size,
    interface_absent_on_nodes,
    is_usable,
    judged_by_node,
    names,
    runs_elsewhere,
    selected,
    shown,
    value_of,
    where_set,
)
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.cluster import Cluster
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.network import Interface, Network
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="NCC001", name="socket-interface-absent", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Bootstrap : no socket interface found"),)

LOG_MESSAGE = Message(
    en=Words(
        "NCCL found no network interface for its start-up connection",
        "NCCL_SOCKET_IFNAME selects no interface of this machine that is up and has an address (a "
        "name from another machine, or a filter that leaves none), or a container has only loopback.",
        "Unset `NCCL_SOCKET_IFNAME`, or set it to an interface that `ip -br addr` shows as UP on "
        "every node (`export NCCL_SOCKET_IFNAME=eth0`; `^lo,docker0` excludes). On a single machine "
        "`NCCL_SOCKET_IFNAME=lo` works.",
    ),
    zh=Words(
        "NCCL 找不到用于建立连接的网卡",
        "NCCL_SOCKET_IFNAME 没有选中本机任何已启用且有地址的网卡(名称来自别的机器,或过滤后一个不剩),"
        "或容器只有回环网卡。",
        "取消 `NCCL_SOCKET_IFNAME`,或设为每个节点上 `ip -br addr` 显示为 UP 的网卡(`export "
        "NCCL_SOCKET_IFNAME=eth0`;`^lo,docker0` 表示排除)。单机可用 `NCCL_SOCKET_IFNAME=lo`。",
    ),
)
VARIABLE = "NCCL_SOCKET_IFNAME"

ABSENT = Message(
    en=Words(
        "`NCCL_SOCKET_IFNAME={value}` matches none of the interfaces {present}",
        "NCCL meets over a socket even where the data go over NVLink. Without an interface the first collective ends "
        "with `Bootstrap : no socket interface found`.",
        "Name an interface of this machine, or unset the variable and let NCCL choose.",
    ),
    zh=Words(
        "`NCCL_SOCKET_IFNAME={value}` 与现有网卡 {present} 都不匹配",
        "即使数据走 NVLink,NCCL 也要先通过 socket 会合。没有可用网卡时,第一次集合通信会以 "
        "`Bootstrap : no socket interface found` 失败。",
        "填写本机存在的网卡,或取消该变量让 NCCL 自行选择。",
    ),
)
DOWN = Message(
    en=Words(
        "`NCCL_SOCKET_IFNAME={value}` selects {present}, down or without an address",
        "NCCL takes only interfaces that are up and have an address. The first collective ends with "
        "`Bootstrap : no socket interface found`.",
        "Bring the interface up, name another one, or unset the variable and let NCCL choose.",
    ),
    zh=Words(
        "`NCCL_SOCKET_IFNAME={value}` 选中的 {present} 未启用或没有地址",
        "NCCL 只使用已启用且有地址的网卡。第一次集合通信会以 `Bootstrap : no socket interface found` 失败。",
        "启用该网卡、换一个网卡,或取消该变量让 NCCL 自行选择。",
    ),
)


@check(PROBLEM)
def socket_interface_absent(
    launch: Launch,
    environment: Environment,
    network: Network,
    gpus: Gpus,
    world: World | None,
    serving: Serving | None,
    training: Training | None,
) -> Judgement:
    """Judge runs of several ranks that start on this machine itself."""
    value = value_of(environment, training, VARIABLE)
    if value is None or len(value) < 2 or runs_elsewhere(launch) or group_size(world, serving) < 2 or not gpus.gpus:
        return
    matching = selected(value, network.interfaces)
    if any(is_usable(each) for each in matching):
        return
    usable = [each.name for each in network.interfaces if is_usable(each) and each.name != "lo"]
    yield found(
        PROBLEM,
        DOWN if matching else ABSENT,
        value=value,
        present=names(matching or network.interfaces),
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}={usable[0]}",) if usable else (f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )


ON_NODES = Message(
    en=Words(
        "`{variable}={value}` names no usable interface of {hosts}",
        "The first collective of these nodes ends with `Bootstrap : no socket interface found`. Interfaces "
        "are named otherwise on some machines, or one of them is down there.",
        "Name a beginning that fits all nodes (`eth,ens`), exclude instead (`^lo,docker`), or unset the variable.",
    ),
    zh=Words(
        "`{variable}={value}` 在 {hosts} 上没有可用的网卡",
        "这些节点的第一次集合通信会以 `Bootstrap : no socket "
        "interface found` 失败:某些机器的网卡名称不同,或该网卡在那里没有启用。",
        "填写适合所有节点的前缀(`eth,ens`),改用排除(`^lo,docker`),或取消该变量。",
    ),
)


@check(PROBLEM)
def nccl_interface_absent_on_nodes(cluster: Cluster, launch: Launch | None) -> Judgement:
    """Where no command says what each node is to start."""
    if not judged_by_node(launch):
        yield from interface_absent_on_nodes(
            PROBLEM, ON_NODES, cluster, VARIABLE, _lacks, severity=ERROR, confidence=CONFIRMED
        )


def _lacks(value: str, interfaces: tuple[Interface, ...]) -> bool:
    """No interface that the value leaves can be used; a value of one letter is none to NCCL."""
    return len(value) > 1 and not any(is_usable(each) for each in selected(value, interfaces))
