"""The Ray cluster has not the resources that are asked for.

## What it means
More GPUs or CPUs are asked for than are free: other jobs, crashed actors, or a node that has not joined.
## What it does to a run
The request waits for ever, or ends after half an hour.
## What to do
Ask for less or free what is held.
## How it is found
Words of Ray, vLLM and veRL in a log. Before the launch: nodes and GPUs that the command asks for against what the nodes
of the cluster would hand out, whether free or not.
## References
https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import machines_of, ranks_here
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.cluster import Cluster
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="RAY012", name="ray-not-enough-resources", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The number of required GPUs exceeds the total number of available GPUs in the placement"
        r" group\."
    ),
    Signature(r"Cannot provide a placement group of placement_group_specs="),
    Signature(
        r"Total available GPUs (?P<free>[\d.]{1,8}\d|\d) is less than total desired GPUs"
        r" (?P<wanted>\d{1,6})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Ray cluster has fewer free GPUs than are asked for{numbers}",
        "Parallel sizes times engines and trainer workers exceed what `ray status` shows as free: a "
        "node has not joined, another job or left-over actors hold GPUs, or the node hides some of "
        "them.",
        "Compare with `ray status` and `ray list nodes`; end left-over jobs (`ray stop --force`), "
        "join the missing nodes, or ask for less (`tensor_parallel_size`, `trainer.n_gpus_per_node`, "
        "`trainer.nnodes`).",
    ),
    zh=Words(
        "Ray 集群的空闲 GPU 少于所需{numbers}",
        "并行大小与引擎、训练进程数之积超过了 `ray status` 显示的空闲数:某节点未加入,其他任务或残留 "
        "actor 占用 GPU,或节点隐藏了部分 GPU。",
        "对照 `ray status` 与 `ray list nodes`;结束残留任务(`ray stop --force`),加入缺少的节点,或减少"
        "需求(`tensor_parallel_size`、`trainer.n_gpus_per_node`、`trainer.nnodes`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With both numbers where told."""
    free, wanted = hits.get("free"), hits.get("wanted")
    numbers = f": {free} free, {wanted} wanted" if wanted else ""
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), numbers=numbers)


MESSAGE = Message(
    en=Words(
        "{wanted} nodes with {gpus} GPUs each are asked for; found with so many: {there}",
        "The placement group can never be made: the driver waits, and ends with an error of veRL or Trinity-RFT, or "
        "after half an hour.",
        "Join the nodes that are missing, see with `ray status` which hide GPUs, or ask for less.",
    ),
    zh=Words(
        "要求 {wanted} 个各有 {gpus} 块 GPU 的节点,而满足的只有 {there} 个",
        "放置组永远无法建立:驱动进程会一直等待,然后以 veRL 或 Trinity-RFT 的错误结束,或半小时后退出。",
        "加入缺少的节点,用 `ray status` 查看哪些节点没有给出 GPU,或减少需求。",
    ),
)


@check(PROBLEM)
def cluster_has_resources(
    cluster: Cluster, verl_config: VerlConfig | None, trinity_config: TrinityConfig | None
) -> Judgement:
    """A share is packed on one node; who holds the GPUs now is not judged."""
    if cluster.engine != "ray" or (verl_config is None and trinity_config is None):
        return
    gpus = ranks_here(None, None, verl_config, trinity_config)
    nodes = machines_of(None, verl_config, trinity_config)
    alive = [node for node in cluster.nodes if node.state != "died"]
    there = [node for node in alive if node.resources.get("GPU", 0) >= gpus]
    if gpus < 1 or len(there) >= nodes or not any(node.resources for node in alive):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        wanted=nodes,
        gpus=gpus,
        there=len(there),
        commands=("ray status",),
        evidence=tuple(Evidence(node.name, f"GPU: {node.resources.get('GPU', 0):g}") for node in alive[:8]),
    )
