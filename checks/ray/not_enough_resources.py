"""The Ray cluster has not the resources that are asked for.

## What it means
More GPUs or CPUs are asked for than are free: other jobs, crashed actors, or a node that has not joined.
## What it does to a run
The request waits for ever, or ends after half an hour.
## What to do
Ask for less or free what is held.
## How it is found
Words of Ray, vLLM and veRL.
## References
https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

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
