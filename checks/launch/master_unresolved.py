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
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch
from doctor.facts.network import Network

PROBLEM = Problem(id="LCH011", name="master-unresolved", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The (?:client socket has failed to connect to any network address of|IPv4 network"
        r" addresses of) \((?P<host>(?![\w.]{1,120}\.arpa,)[^,\n]{1,120}), (?P<port>\d{1,5})\)[^\n]{0,200}(?:gai error:"
        r" -?\d{1,3}|Name or service not known)"
    ),
    # torch warns of a name that has no IPv6 address, which most have not; one of reverse DNS has none at all
    Signature(
        r"The IPv4 network addresses of \((?P<host>[\w.\-]{1,120}\.arpa), (?P<port>\d{1,5})\) cannot be retrieved",
        kind="warning",
    ),
    Signature(
        r"(?:ValueError|RuntimeError): (?P<unnamed>host not found): (?:Name or service not known|Temporary failure in "
        r"name resolution|No address associated with hostname|nodename nor servname)"
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


REVERSE = Message(
    en=Words(
        "the address of this machine is a reverse-DNS name (`{host}`), which does not resolve",
        "torchrun asks for the machine's full name and got the name under which its address stands in reverse DNS. "
        "That is no name to connect to, so the ranks cannot meet, not even on one machine.",
        "Tell it an address: `torchrun --local-addr 127.0.0.1` on one machine, the machine's IP on several, or "
        "`--master_addr 127.0.0.1 --master_port 29500` instead of `--standalone`. For good: a line with the host's "
        "own name and address in /etc/hosts.",
    ),
    zh=Words(
        "本机地址是一个无法解析的反向 DNS 名称(`{host}`)",
        "torchrun 查询本机全名,得到的却是其地址在反向 DNS 中的名称。它不能用来连接,因此即使在单机上各 rank 也无法汇"
        "合。",
        "直接给出地址:单机用 `torchrun --local-addr 127.0.0.1`,多机用本机 IP;或用 `--master_addr 127.0.0.1 "
        "--master_port 29500` 代替 `--standalone`。根治:在 /etc/hosts 中加入本机名称与地址。",
    ),
)

#: torch up to 1.9 does not say which name
UNNAMED = Message(
    en=Words(
        "the master address (`MASTER_ADDR`) does not resolve on a node",
        "`MASTER_ADDR`, `--master_addr` or the rendezvous endpoint names a host that this node's DNS and /etc/hosts "
        "do not know. On Kubernetes the name of a master's service resolves only once that pod is there: a worker "
        "that starts before it ends in this way.",
        "Print it there (`echo $MASTER_ADDR; getent hosts $MASTER_ADDR`), and use an IP address or a name that "
        "resolves on every node. PyTorchJob: let the worker start again (`restartPolicy: OnFailure`) or wait first "
        "(`until nc -z $MASTER_ADDR $MASTER_PORT; do sleep 2; done`), and look why the master pod is not there.",
    ),
    zh=Words(
        "某节点无法解析主节点地址(`MASTER_ADDR`)",
        "`MASTER_ADDR`、`--master_addr` 或 rendezvous 端点中的主机名在该节点的 DNS 与 /etc/hosts 中不存在。在 "
        "Kubernetes 上,master 的 service 名称要等该 pod 存在后才能解析:先于它启动的 worker 就会这样退出。",
        "在该处打印(`echo $MASTER_ADDR; getent hosts $MASTER_ADDR`),使用 IP 地址或每个节点都能解析的名称。PyTorchJob:"
        "让 worker 重新启动(`restartPolicy: OnFailure`)或先等待(`until nc -z $MASTER_ADDR $MASTER_PORT; do sleep 2; "
        "done`),并查看 master pod 为何不在。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A name of reverse DNS is no wrong setting of the user's."""
    host = hits.get("host") or ""
    return found(
        PROBLEM,
        REVERSE if host.endswith(".arpa") else LOG_MESSAGE if host else UNNAMED,
        where=hits.where(),
        evidence=hits.evidence(),
        host=host,
    )


@check(PROBLEM)
def master_unresolved(launch: Launch, network: Network) -> Judgement:
    """Only what the resolver answered counts; a name that was not asked for is no finding."""
    master = network.endpoint("master")
    if master is None or master.resolves is not False or "srun" in launch.wrappers or not launch.trains:
        return
    yield found(PROBLEM, MESSAGE, host=master.host, commands=(f"getent hosts {master.host}",))
