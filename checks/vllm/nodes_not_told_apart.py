"""vLLM counts another number of addresses than Ray has nodes.

## What it means
vLLM's Ray executor asks every worker for its address and expects as many different ones as nodes. With several network
interfaces a worker (or the driver) may name another address than Ray knows, or VLLM_HOST_IP is the same on all nodes.
## What it does to a run
The engine does not start, or waits without end for a GPU on an address that is no node.
## What to do
Give every node one address of its own, the same for Ray and for vLLM.
## How it is found
In a log: by vLLM's check, with both numbers.
## References
https://github.com/vllm-project/vllm/pull/43095
https://github.com/vllm-project/vllm/issues/7815
https://github.com/ray-project/ray/issues/63917
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL093", name="nodes-not-told-apart", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Every node should have a unique IP address\. Got (?P<nodes>\d{1,5}) nodes[^\n]{0,2000}? "
        r"(?P<addresses>\d{1,5}) unique"
        r" IP addresses",
    ),
    Signature(r"Every node should have a unique IP address"),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM counts {addresses} addresses on {hosts} Ray nodes",
        "{why}vLLM finds a host's address by the default route unless `VLLM_HOST_IP` tells it; Ray uses the "
        "one of `ray "
        "start --node-ip-address`. On machines with several interfaces (InfiniBand, Wi-Fi, docker) the two differ.",
        "On every node: `export VLLM_HOST_IP=` its own address in the cluster's network, then `ray start "
        "--node-ip-address=$VLLM_HOST_IP ...` (head and workers), and start vLLM from a shell of the head with its own "
        "value; never hand one value to all nodes through `runtime_env`. `ray list nodes` shows the addresses. "
        "Containers: `--network host`.",
    ),
    zh=Words(
        "vLLM 在 {hosts} 个 Ray 节点上数到 {addresses} 个地址",
        "{why_zh}除非由 `VLLM_HOST_IP` 指定,vLLM 按默认路由确定本机地址;Ray 使用 `ray start --node-ip-address` 的地址。"
        "在有多个网卡(InfiniBand、Wi-Fi、docker)的机器上两者不同。",
        "在每个节点:`export VLLM_HOST_IP=` 其在集群网络中的地址,再 `ray start --node-ip-address=$VLLM_HOST_IP "
        "...`(head 与 worker),并在 head 的 shell 中以其自己的值启动 vLLM;不要通过 `runtime_env` 给所有节点同一个值。"
        "`ray list nodes` 可查看地址。容器:`--network host`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Too many addresses or too few."""
    nodes, addresses = int(hits.get("nodes") or 0), int(hits.get("addresses") or 0)
    why = why_zh = ""
    if addresses > nodes:
        why = "A node is known by two addresses: the driver or a worker named another one than Ray has. "
        why_zh = "某个节点有两个地址:driver 或某个 worker 报告的与 Ray 的不同。"
    elif nodes:
        why = (
            "Several nodes name the same address: `VLLM_HOST_IP` was copied to all, or the workers landed on one host. "
        )
        why_zh = "多个节点报告同一地址:`VLLM_HOST_IP` 被复制到所有节点,或 worker 都落在一台主机上。"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        hosts=nodes or "the", addresses=addresses or "other", why=why, why_zh=why_zh,
    )  # fmt: skip
