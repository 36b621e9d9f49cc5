"""A placement group has fewer bundles, or smaller ones, than what is placed into it asks for.

## What it means
A trainer reserves its GPUs as bundles of one placement group and puts workers and engines into them. An engine that
spans more GPUs than were reserved asks for a bundle that is not there.
## What it does to a run
The actor is refused before it starts, and the run ends.
## What to do
Let the engines together need no more GPUs than the group has.
## How it is found
In a log: by Ray's check of the bundle, with the index that was asked for and the number of bundles.
## References
https://github.com/ray-project/ray/blob/master/python/ray/util/placement_group.py
https://github.com/OpenRLHF/OpenRLHF/pull/728
https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY030", name="placement-group-too-small", severity=ERROR, since="0.1")

SIGNATURES = (
    # Ray prints the number of bundles as the last index
    Signature(
        r"placement group bundle index (?P<index>\d{1,6}) is invalid\. Valid placement group indexes: "
        r"0-(?P<bundles>\d{1,6})",
    ),
    Signature(
        r"Cannot schedule (?P<what>[\w.<>]{1,120}) with the placement group because the resource request "
        r"(?P<request>\{[^}\n]{1,200}\}) cannot fit into any bundles",
    ),
)

INDEX = Message(
    en=Words(
        "bundle {number} of a placement group is asked for, which has {bundles}",
        "The trainer reserved {bundles} bundles, one GPU each, and then puts more workers or engines into them. "
        "Colocated, the engines use the actor's GPUs: number of engines x tensor parallel size must not exceed nodes "
        "x GPUs per node of the actor.",
        "Lower the number of engines or their tensor parallel size (OpenRLHF `--vllm_num_engines`, "
        "`--vllm_tensor_parallel_size`; slime `--rollout-num-gpus-per-engine`), or reserve more GPUs "
        "(`--actor_num_nodes`, `--actor_num_gpus_per_node`), so that both products agree.",
    ),
    zh=Words(
        "请求了 placement group 的第 {number} 个 bundle,而它只有 {bundles} 个",
        "训练器预留了 {bundles} 个 bundle(各一张 GPU),随后放入了更多 worker 或引擎。共置时引擎使用 actor 的 GPU:"
        "引擎数 x 张量并行大小不得超过 actor 的节点数 x 每节点 GPU 数。",
        "减少引擎数或其张量并行大小(OpenRLHF `--vllm_num_engines`、`--vllm_tensor_parallel_size`;slime "
        "`--rollout-num-gpus-per-engine`),或预留更多 GPU(`--actor_num_nodes`、`--actor_num_gpus_per_node`),"
        "使两个乘积一致。",
    ),
)
REQUEST = Message(
    en=Words(
        "`{what}` asks for `{request}`, which no bundle of its placement group holds",
        "A bundle is what one actor may use at most, and it lies on one node. A resource that the bundles were not "
        "made with (GPU, CPU, memory, one of your own) counts as none.",
        "Lower what the actor asks for (`num_gpus`, `num_cpus`), or make the bundles of the placement group larger; "
        'an actor that needs no place in it is started with `scheduling_strategy="DEFAULT"`.',
    ),
    zh=Words(
        "`{what}` 请求 `{request}`,其 placement group 没有能容纳它的 bundle",
        "一个 bundle 是单个 actor 最多可用的资源,且位于一个节点上。创建 bundle 时没有写的资源(GPU、CPU、内存、自定义)"
        "视为没有。",
        "降低 actor 的请求(`num_gpus`、`num_cpus`),或加大 placement group 的 bundle;不需要放入其中的 actor 用 "
        '`scheduling_strategy="DEFAULT"` 启动。',
    ),
)


def explain(hits: Hits) -> Finding:
    """A bundle that is not there, or none that is large enough."""
    index, bundles = hits.get("index"), hits.get("bundles")
    return found(
        PROBLEM,
        INDEX if index else REQUEST,
        where=hits.where(),
        evidence=hits.evidence(),
        number=int(index or 0) + 1,
        bundles=bundles,
        what=hits.get("what"),
        request=hits.get("request"),
    )
