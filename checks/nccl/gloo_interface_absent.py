"""GLOO_SOCKET_IFNAME names an interface that this machine does not have.

## What it means
Gloo, torch's backend for CPU tensors, was told which interfaces to use. It takes whole names (no beginnings, unlike
NCCL), and every name of the list must exist and have an address.
## What it does to a run
Making a gloo group ends with `Unable to find address for: NAME`. vLLM makes one beside every NCCL group, also with a
single GPU; so does FSDP with CPU offload.
## What to do
Write the names of interfaces that exist, or unset the variable.
## How it is found
Each name of the list against the interfaces of this machine.
## References
https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use
https://github.com/facebookincubator/gloo/blob/main/gloo/transport/tcp/device.cc
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import (
    group_size,
    interface_absent_on_nodes,
    is_usable,
    judged_by_node,
    names,
    runs_elsewhere,
    shown,
    value_of,
    where_set,
)
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.cluster import Cluster
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.network import Interface, Network
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="NCC003", name="gloo-interface-absent", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"[Uu]nable to find (?:address|interface) for: ?(?P<interface>[\w.\-\[\]:]{1,60})"),)

LOG_MESSAGE = Message(
    en=Words(
        "gloo finds no usable interface or address `{interface}`",
        "GLOO_SOCKET_IFNAME names an interface that this machine does not have, or this machine's "
        "host name resolves to an address that none of its interfaces has (a short name read as "
        "0.x.x.x counts too).",
        "Set `GLOO_SOCKET_IFNAME` to an interface that `ip -br addr` shows (`lo` for a single "
        "machine), or map the host name to the machine's address in /etc/hosts.",
    ),
    zh=Words(
        "gloo 找不到可用的网卡或地址 `{interface}`",
        "GLOO_SOCKET_IFNAME 指定了本机没有的网卡,或本机主机名解析到了任何网卡都没有的地址。",
        "把 `GLOO_SOCKET_IFNAME` 设为 `ip -br addr` 中存在的网卡(单机用 `lo`),或在 /etc/hosts 中把主"
        "机名映射到本机地址。",
    ),
)
VARIABLE = "GLOO_SOCKET_IFNAME"

MESSAGE = Message(
    en=Words(
        "`GLOO_SOCKET_IFNAME` names {missing}, and this machine has {present}",
        "Making a gloo group ends with `Unable to find address for`. vLLM makes such a group at every start, the "
        "trainer when tensors on the CPU are exchanged. Gloo takes whole names, not beginnings.",
        "Write the name of an interface that exists, or unset the variable.",
    ),
    zh=Words(
        "`GLOO_SOCKET_IFNAME` 写了 {missing},而本机的网卡是 {present}",
        "创建 gloo 组时会以 `Unable to find address for` 失败。vLLM 每次启动都会创建这样的组,"
        "训练端在交换 CPU 张量时也会。gloo 要求完整的网卡名,不接受前缀。",
        "填写存在的网卡名,或取消该变量。",
    ),
)


@check(PROBLEM)
def gloo_interface_absent(
    launch: Launch,
    environment: Environment,
    network: Network,
    world: World | None,
    serving: Serving | None,
    training: Training | None,
) -> Judgement:
    """Certain where vLLM starts or the training is on the CPU; elsewhere gloo may never be asked for."""
    value = value_of(environment, training, VARIABLE)
    if not value or runs_elsewhere(launch):
        return
    usable = {each.name for each in network.interfaces if is_usable(each)}
    missing = [each for each in value.split(",") if each not in usable]
    colocate = training is not None and training.value("use_vllm") is True and training.value("vllm_mode") == "colocate"
    sure = serving is not None or colocate or (world is not None and world.backend == "cpu")
    if not missing or not (sure or group_size(world, serving) > 1):
        return
    others = sorted(usable - {"lo"})
    yield found(
        PROBLEM,
        MESSAGE,
        missing=", ".join(f"`{each}`" for each in missing),
        present=names(network.interfaces),
        severity=ERROR if sure else WARNING,
        confidence=CONFIRMED if sure else LIKELY,
        where=where_set(training, VARIABLE),
        commands=(f"export {VARIABLE}={others[0]}",) if others else (f"unset {VARIABLE}",),
        evidence=shown(VARIABLE, value),
    )


ON_NODES = Message(
    en=Words(
        "`{variable}={value}` names no usable interface of {hosts}",
        "Making a gloo group ends there with `Unable to find address for`. Gloo takes whole names, not "
        "beginnings, and interfaces are named otherwise on some machines.",
        "Set it on each node to the name of its own interface, or unset it.",
    ),
    zh=Words(
        "`{variable}={value}` 在 {hosts} 上没有可用的网卡",
        "在那里创建 gloo 组会以 `Unable to find address for` 失败。gloo 要求完整的网卡名,而某些机器的网卡名称不同。",
        "在每个节点上设为其自身网卡的名称,或取消该变量。",
    ),
)


@check(PROBLEM)
def gloo_interface_absent_on_nodes(cluster: Cluster, launch: Launch | None) -> Judgement:
    """Where no command says what each node is to start."""
    if not judged_by_node(launch):
        yield from interface_absent_on_nodes(
            PROBLEM, ON_NODES, cluster, VARIABLE, _lacks, severity=WARNING, confidence=LIKELY
        )


def _lacks(value: str, interfaces: tuple[Interface, ...]) -> bool:
    """One of the names is no usable interface."""
    return not set(value.split(",")) <= {each.name for each in interfaces if is_usable(each)}
