"""vLLM's driver process finds no GPU worker on its own node.

## What it means
The Ray placement group has no GPU bundle on the node where the engine's driver runs, or vLLM takes another address
for that node than Ray.
## What it does to a run
The engine is not started.
## What to do
Run the driver on a GPU node and set VLLM_HOST_IP.
## How it is found
vLLM's message.
## References
https://docs.vllm.ai/en/stable/serving/parallelism_scaling.html
https://github.com/vllm-project/vllm/issues/29265
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY010", name="ray-driver-node-without-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Ray does not allocate any GPUs on the driver node"),
    Signature(r"driver node id \w{1,80} is not included in a placement"),
    Signature(r"Current node has no \w{2,8} available\. [^\n]{0,400}vLLM engine cannot start without"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Ray gave the node of vLLM's driver process no GPU",
        "The placement group has no GPU bundle on the driver's (head) node, or `VLLM_HOST_IP` "
        "differs from the IP address by which Ray knows that node (several interfaces).",
        "Start the driver on a node that has GPUs in the placement group, and set `VLLM_HOST_IP` on "
        "every node to that node's own address as `ray list nodes` shows it, before `ray start`. Where `ray status` "
        "counts no GPU (or NPU) for that node, start Ray there again with `--num-gpus` or with the devices visible.",
    ),
    zh=Words(
        "Ray 没有为 vLLM 驱动进程所在的节点分配 GPU",
        "placement group 在驱动进程(head)所在节点没有 GPU bundle,或 `VLLM_HOST_IP` 与 Ray 所知的该节"
        "点 IP 地址不一致(多网卡)。",
        "在 placement group 中有 GPU 的节点上启动驱动进程,并在每个节点 `ray start` 之前把 `VLLM_HOST_IP` 设为 `ray "
        "list nodes` 所示的该节点地址。若 `ray status` 中该节点没有 GPU(或 NPU),在其设备可见的情况下或用 `--num-gpus` "
        "重新启动 Ray。",
    ),
)
