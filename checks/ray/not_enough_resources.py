"""The Ray cluster has not the resources that are asked for.

## What it means
More GPUs or CPUs are asked for than are free: other jobs, crashed actors, or a node that has not joined.
## What it does to a run
The request waits for ever, or ends after half an hour.
## What to do
Ask for less or free what is held.
## How it is found
Words of Ray, vLLM and veRL in a log. Before the launch: nodes and GPUs that the command of veRL, Trinity-RFT or
OpenRLHF asks for against what the nodes of the cluster would hand out, whether free or not.
## References
https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html
https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/cli/train_ppo_ray.py
"""

from __future__ import annotations

from doctor.checks.nccl._helpers import machines_of, ranks_here
from doctor.checks.openrlhf._gpus import gpus_asked_for
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.cluster import Cluster, Node
from doctor.facts.launch import Launch
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="RAY012", name="ray-not-enough-resources", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"The number of required \wPUs exceeds the total number of available \wPUs in the "
        r"(?:placement group|cluster)\."
    ),
    Signature(r"Cannot provide a placement group of placement_group_specs="),
    Signature(r"TimeoutError: Placement group creation timed out\b"),
    Signature(r"ResourceInsufficientError: Maximum number of retries reached"),  # NeMo-RL
    Signature(
        r"Total available GPUs (?P<free>[\d.]{1,8}\d|\d) is less than total desired GPUs"
        r" (?P<wanted>\d{1,6})"
    ),
)

#: positions of what only waited
WAITED = (2, 3)

LOG_MESSAGE = Message(
    en=Words(
        "the Ray cluster has fewer free GPUs than are asked for{numbers}",
        "Parallel sizes times engines and trainer workers exceed what `ray status` shows as free: a "
        "node has not joined, another job or left-over actors hold GPUs, or the node hides some of "
        "them.",
        "Compare with `ray status` and `ray list nodes`; end left-over jobs (`ray stop --force` ends all your Ray runs "
        "on a machine), join the missing nodes, or ask for less (`tensor_parallel_size`, `trainer.n_gpus_per_node`, "
        "`trainer.nnodes`).",
    ),
    zh=Words(
        "Ray 集群的空闲 GPU 少于所需{numbers}",
        "并行大小与引擎、训练进程数之积超过了 `ray status` 显示的空闲数:某节点未加入,其他任务或残留 "
        "actor 占用 GPU,或节点隐藏了部分 GPU。",
        "对照 `ray status` 与 `ray list nodes`;结束残留任务(`ray stop --force` 会结束你在该机器上的所有 Ray 任务),加入"
        "缺少的节点,或减少需求(`tensor_parallel_size`、`trainer.n_gpus_per_node`、`trainer.nnodes`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With both numbers where told; one that only waited too long may wait for nodes, or for a slow Ray."""
    free, wanted = hits.get("free"), hits.get("wanted")
    numbers = f": {free} free, {wanted} wanted" if wanted else ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), numbers=numbers,
        confidence=LIKELY if all(hit.signature in WAITED for hit in hits) else CONFIRMED,
    )  # fmt: skip


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


TOTAL = Message(
    en=Words(
        "OpenRLHF asks for at least {wanted} GPUs, and the nodes of the Ray cluster have {there}",
        "Roles that are not colocated take GPUs of their own, 8 each unless told otherwise. A placement group that can "
        "never be made is waited for without end: `ray.get(pg.ready())` says nothing.",
        "Set the numbers of each role (`actor`, `ref`, `critic`, `reward`, `vllm`), colocate them "
        "(`--colocate_all_models`, `--train.colocate_all` from 0.10 on), or join more nodes.",
    ),
    zh=Words(
        "OpenRLHF 至少要求 {wanted} 块 GPU,而 Ray 集群的节点共有 {there} 块",
        "未共置的角色各占自己的 GPU,未指定时每个角色 8 块。永远无法建立的放置组会一直等待:"
        "`ray.get(pg.ready())` 不给任何提示。",
        "设置各角色(`actor`、`ref`、`critic`、`reward`、`vllm`)的数目,或将其共置"
        "(`--colocate_all_models`,0.10 起为 `--train.colocate_all`),或加入更多节点。",
    ),
)


@check(PROBLEM)
def cluster_has_resources(
    cluster: Cluster, verl_config: VerlConfig | None, trinity_config: TrinityConfig | None
) -> Judgement:
    """A share is packed on one node; who holds the GPUs now is not judged."""
    alive = _alive(cluster)
    if not alive or (verl_config is None and trinity_config is None):
        return
    gpus = ranks_here(None, None, verl_config, trinity_config)
    nodes = machines_of(None, verl_config, trinity_config)
    there = [node for node in alive if _gpus(node) >= gpus]
    if gpus < 1 or len(there) >= nodes:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        wanted=nodes,
        gpus=gpus,
        there=len(there),
        commands=("ray status",),
        evidence=_evidence(alive),
    )


@check(PROBLEM)
def cluster_has_gpus_for_openrlhf(cluster: Cluster, launch: Launch | None) -> Judgement:
    """Its bundles have one GPU each and may lie anywhere, so all GPUs count."""
    alive = _alive(cluster)
    wanted = gpus_asked_for(launch) if launch is not None else None
    there = sum(_gpus(node) for node in alive)
    if not alive or wanted is None or wanted <= there:
        return
    yield found(PROBLEM, TOTAL, wanted=wanted, there=f"{there:g}", commands=("ray status",), evidence=_evidence(alive))


def _alive(cluster: Cluster) -> list[Node]:
    """Nodes that Ray may place something on; none where it does not tell what they have."""
    alive = [node for node in cluster.nodes if node.state != "died"] if cluster.engine == "ray" else []
    return alive if any(node.resources for node in alive) else []


def _gpus(node: Node) -> float:
    return node.resources.get("GPU", 0)


def _evidence(nodes: list[Node]) -> tuple[Evidence, ...]:
    return tuple(Evidence(node.name, f"GPU: {_gpus(node):g}") for node in nodes[:8])
