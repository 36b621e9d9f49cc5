"""The address where the ranks are to meet does not resolve.

## What it means
MASTER_ADDR, `--main_process_ip`, `--master_addr` or the host of `--rdzv_endpoint` is a name that this machine
cannot turn into an address.
## What it does to a run
Every rank waits for its time-out and ends with `The client socket has failed to connect` or a name-resolution error.
## What to do
Use the IP address of the first machine, or make the name resolvable on all machines.
## How it is found
The name is asked of this machine's resolver.
## References
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.network import Network

PROBLEM = Problem(id="LCH011", name="master-unresolved", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The (?:client socket has failed to connect to any network address of|IPv[46] network"
        r" addresses of) \((?P<host>[^,\n]{1,120}), (?P<port>\d{1,5})\)[^\n]{0,200}(?:gai error:"
        r" -\d{1,3}|Name or service not known)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the master address `{host}` does not resolve on a node",
        "MASTER_ADDR, `--master_addr` or the rendezvous endpoint names a host that this node's DNS "
        "and /etc/hosts do not know.",
        "Use an IP address or a name that `getent hosts {host}` resolves on every node; under Slurm "
        "`scontrol show hostnames $SLURM_NODELIST | head -1`.",
    ),
    zh=Words(
        "某节点无法解析主节点地址 `{host}`",
        "MASTER_ADDR、`--master_addr` 或 rendezvous 端点中的主机名在该节点的 DNS 与 /etc/hosts 中不存在。",
        "使用 IP 地址,或每个节点上 `getent hosts {host}` 都能解析的名称;Slurm 下可用 `scontrol show "
        "hostnames $SLURM_NODELIST | head -1`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{host}`, where the ranks are to meet, does not resolve on this machine",
        "No rank of this machine reaches the meeting point: they wait for the time-out and end "
        "with a connection error.",
        "Use the IP address of the first machine, or make the name resolvable everywhere.",
    ),
    zh=Words(
        "各 rank 汇合所用的地址 `{host}` 在本机无法解析",
        "本机的 rank 都到不了汇合点:它们会一直等到超时,然后以连接错误退出。",
        "改用第一台机器的 IP 地址,或让该名字在所有机器上都能解析。",
    ),
)


@check(PROBLEM)
def master_unresolved(launch: Launch, network: Network) -> Judgement:
    """Only what the resolver answered counts; a name that was not asked for is no finding."""
    master = network.endpoint("master")
    if master is None or master.resolves is not False or "srun" in launch.wrappers or not launch.trains:
        return
    yield found(PROBLEM, MESSAGE, host=master.host, commands=(f"getent hosts {master.host}",))
