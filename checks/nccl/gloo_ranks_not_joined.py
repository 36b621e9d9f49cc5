"""Gloo could not connect every rank with every other.

## What it means
A gloo group (CPU tensors, control messages of vLLM, SGLang and Megatron) is a full mesh: each rank announces the
address of its host's name and the others connect to it. One connection that fails ends the set-up.
## What it does to a run
The process group is not made and the run ends.
## What to do
Name the interface that the nodes share, and look for a rank that ended.
## How it is found
In a log: by gloo's words, where the address is not the loopback one.
## References
https://github.com/pytorch/gloo/blob/main/docs/rendezvous.md
https://docs.vllm.ai/en/latest/usage/troubleshooting.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC034", name="gloo-ranks-not-joined", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:RuntimeError|DistBackendError): Gloo connectFullMesh failed with",
        symptom_of=("NCC003", "NCC004", "MEM", "LCH018"),
    ),
    Signature(
        r"gloo/transport/tcp/pair\.cc:\d{1,5}\] connect \[(?!127\.)[0-9a-fA-F.:]{3,45}\]:\d{1,5}: "
        r"(?:Connection|No route)",
        symptom_of=("NCC003", "NCC004", "MEM", "LCH018"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "gloo could not connect all ranks with each other",
        "Every rank announces the address that its host's name resolves to, and the others connect to it. That is "
        "often 127.0.1.1 (Debian and Ubuntu), an address of another network, or a port that a firewall closes; a rank "
        "may also have died in the meantime.",
        "On every node `export GLOO_SOCKET_IFNAME=eth0` (the interface that the nodes share, as for NCCL), map the "
        "host name to the address of that interface in /etc/hosts, open the ports between the nodes, and look whether "
        "a rank ended before.",
    ),
    zh=Words(
        "gloo 无法让所有 rank 互相连接",
        "每个 rank 公布其主机名所解析的地址,其他 rank 连接它。该地址常为 127.0.1.1(Debian 与 Ubuntu)、其他网络的地址,或"
        "端口被防火墙关闭;也可能有 rank 已经退出。",
        "在每个节点 `export GLOO_SOCKET_IFNAME=eth0`(节点间互通的网卡,与 NCCL 相同),在 /etc/hosts 中把主机名映射到该网"
        "卡的地址,开放节点之间的端口,并查看是否有 rank 更早退出。",
    ),
)
