"""The GPUs of OpenRLHF's roles do not fit together.

## What it means
Roles that share GPUs (`--colocate_all_models`, `--colocate_actor_ref`, `--colocate_critic_reward`) must
have the same number of nodes and GPUs, and all of vLLM's engines together as many as the actor.
## What it does to a run
OpenRLHF ends with an AssertionError before the models are loaded.
## What to do
Make the numbers equal, or do without colocation.
## How it is found
In a log: by OpenRLHF's assertion, with both numbers where it prints them.
## References
https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/cli/train_ppo_ray.py
https://openrlhf.readthedocs.io/en/latest/hybrid_engine.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ORL002", name="gpus-do-not-match", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"actor_num_nodes \* actor_num_gpus_per_node must be equal to vllm_num_engines \*"
        r" vllm_tensor_parallel_size, got (?P<actor>\d{1,6}) and (?P<engines>\d{1,6})",
    ),
    Signature(
        r"AssertionError: num_nodes and num_gpus_per_node must be the same when colocate"
        r" (?P<roles>actor and ref|critic and reward) model",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the actor has {actor} GPUs and the vLLM engines have {engines}; colocated they must be equal",
        "With `--colocate_all_models` the engines run on the actor's GPUs, so `vllm_num_engines` x "
        "`vllm_tensor_parallel_size` must be `actor_num_nodes` x `actor_num_gpus_per_node`.",
        "Set `--vllm_num_engines` and `--vllm_tensor_parallel_size` so that their product is {actor}, or "
        "start without `--colocate_all_models`.",
    ),
    zh=Words(
        "actor 有 {actor} 张 GPU,vLLM 引擎有 {engines} 张;共置时两者必须相等",
        "使用 `--colocate_all_models` 时引擎运行在 actor 的 GPU 上,因此 `vllm_num_engines` x "
        "`vllm_tensor_parallel_size` 必须等于 `actor_num_nodes` x `actor_num_gpus_per_node`。",
        "设置 `--vllm_num_engines` 和 `--vllm_tensor_parallel_size`,使其乘积为 {actor};或不使用 "
        "`--colocate_all_models`。",
    ),
)

LOG_MESSAGE_ROLES = Message(
    en=Words(
        "{roles} are colocated with different numbers of nodes or GPUs",
        "Models that share GPUs run on the same placement group, so their numbers must be equal.",
        "Give both the same `--..._num_nodes` and `--..._num_gpus_per_node`, or take the colocation of {roles} out.",
    ),
    zh=Words(
        "{roles} 共置,但节点数或 GPU 数不同",
        "共享 GPU 的模型运行在同一个 placement group 上,因此数目必须相等。",
        "为两者设置相同的 `--..._num_nodes` 和 `--..._num_gpus_per_node`,或取消 {roles} 的共置。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Tell the engines from the roles."""
    actor = hits.get("actor")
    return found(
        PROBLEM,
        LOG_MESSAGE if actor else LOG_MESSAGE_ROLES,
        where=hits.where(),
        evidence=hits.evidence(),
        actor=actor,
        engines=hits.get("engines"),
        roles=hits.get("roles"),
    )
