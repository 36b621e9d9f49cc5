"""An all-reduce over the nodes gave a wrong sum.

## What it means
Every process gave ones, and not every process got their number back: data is damaged on its way between GPUs. Known
causes are PCI access control services (ACS) or an IOMMU that redirect traffic between GPUs, faults of GPU Direct RDMA,
and errors of certain NCCL releases.
## What it does to a run
Gradients and weights are wrong without any message: the loss does not fall, or becomes NaN, and differs by rank.
## What to do
Do not train on these nodes. Run nccl-tests with its check of the data, turn ACS off, try `NCCL_P2P_DISABLE=1`.
## How it is found
`doctor check --deep` over many nodes: the all-reduces that it times also have their result compared, on the process
that tells the time.
## References
https://github.com/NVIDIA/nccl/issues/1423
https://github.com/NVIDIA/nccl-tests/issues/167
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs
"""

from __future__ import annotations

from doctor.cluster.measured import Measured
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.cluster import Cluster

PROBLEM = Problem(id="NCC025", name="sum-wrong", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{host}` got a wrong sum from an all-reduce of {size} MiB over {among} nodes",
        "Gradients and weights come out wrong without any message, and differ between ranks.",
        "Do not train on these nodes. Run nccl-tests with its check of the data on fewer and fewer of them, turn PCI "
        "access control services (ACS) off, and try `NCCL_P2P_DISABLE=1`.",
    ),
    zh=Words(
        "`{host}` 在 {among} 个节点上对 {size} MiB 做 all-reduce 得到了错误的和",
        "梯度和权重在没有任何提示的情况下出错,并且各 rank 不一致。",
        "不要在这些节点上训练。用带数据校验的 nccl-tests 逐步缩小节点范围,关闭 PCI 访问控制服务(ACS),"
        "并尝试 `NCCL_P2P_DISABLE=1`。",
    ),
)


@check(PROBLEM)
def sum_wrong(cluster: Cluster) -> Judgement:
    """The first wrong sum of each node that told one."""
    measured = Measured(cluster)
    for node, part in sorted(measured.parts.items()):
        wrong = next((each for each in part.told.rings if not each.sum_right), None)
        if wrong is not None:
            host = measured.name(node)
            text = f"group {wrong.group}: the result of {wrong.message_bytes} bytes of ones was not their number"
            yield found(
                PROBLEM,
                MESSAGE,
                host=host,
                size=f"{wrong.message_bytes / 2**20:.3g}",
                among=wrong.nodes,
                where=Where(host=host),
                evidence=(Evidence("doctor check --deep", text),),
            )
