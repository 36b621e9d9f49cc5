"""The cluster is said to have more GPUs than this machine.

## What it means
`cluster.node_num` is 1 and `cluster.gpu_per_node` is more than the GPUs here. Trinity-RFT plans with these
numbers and asks Ray for them.
## What it does to a run
Explorer or trainer wait for GPUs that never come: Ray only warns that the request cannot be placed.
## What to do
Write the real number, or leave both keys out: newer releases ask Ray.
## How it is found
The file against NVML. A cluster of one machine that is another machine looks the same, so this is likely at
most.
## References
https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.6.0/trinity/common/config_validator.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.facts.gpus import Gpus
from doctor.facts.ray_cluster import RayCluster
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(id="TRI009", name="trinity-more-gpus-than-machine", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`cluster.gpu_per_node` is {want}, and this machine has {have} GPUs",
        "Explorer and trainer are planned on {want} GPUs and wait for Ray to find them, without an error.",
        "Write the number of GPUs that Ray has.",
    ),
    zh=Words(
        "`cluster.gpu_per_node` 为 {want},而本机只有 {have} 张 GPU",
        "explorer 与 trainer 按 {want} 张 GPU 规划,会一直等待 Ray 分配,而且不报错。",
        "写成 Ray 实际拥有的 GPU 数。",
    ),
)


@check(PROBLEM)
def more_gpus_than_machine(trinity_config: TrinityConfig, gpus: Gpus, ray_cluster: RayCluster) -> Judgement:
    """A cluster whose address is another machine's is left alone."""
    each = trinity_config.settings.get("cluster.gpu_per_node")
    nodes = trinity_config.settings.get("cluster.node_num")
    if each is None or nodes is None or not each.known or whole(nodes.value) != 1 or not gpus.gpus:
        return
    if ray_cluster.address is not None and not ray_cluster.raylet_running:
        return
    want, have = whole(each.value), len(gpus.gpus)
    if want is None or want <= have:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        want=want,
        have=have,
        where=place_of(each),
        confidence=LIKELY,
        commands=(f"gpu_per_node: {have}",),
        evidence=(proof(each), Evidence("NVML", f"{have} GPUs")),
    )
