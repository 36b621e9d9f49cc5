"""How many GPUs OpenRLHF's PPO asks Ray for, from its options.

Each role (actor, reference, critic, reward, engines) asks for a placement group of one-GPU bundles, and colocated roles
share one (https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/cli/train_ppo_ray.py). Options are spelt
`--actor_num_nodes` in older releases and `--actor.num_nodes` in newer ones.
"""

from __future__ import annotations

from typing import Any

from doctor.facts.launch import Launch

MODULE = "openrlhf.cli.train_ppo_ray"
_NODES, _PER_NODE = 1, 8  # defaults of every role


def gpus_asked_for(launch: Launch) -> int | None:
    """The least number of GPUs over all placement groups; None of another command, or where a number is not known."""
    if launch.module != MODULE or not all(each.known for each in launch.arguments.values()):
        return None
    try:
        return int(_total(launch))
    except (TypeError, ValueError):
        return None


def _total(launch: Launch) -> float:
    """All roles; raises TypeError or ValueError where an option is no number."""
    critic = _option(launch, "advantage_estimator", "algo.advantage.estimator", "gae") == "gae"
    remote = _option(launch, "remote_rm_url", "reward.remote_url") or _option(
        launch, "agent_func_path", "train.agent_func_path"
    )
    reference = _number(launch, "init_kl_coef", "algo.kl.init_coef", 0.01) > 0
    colocated = _option(launch, "colocate_all_models", "train.colocate_all")
    alone = colocated and not _option(launch, "async_train", "train.async_enable")
    together = _option(launch, "colocate_critic_reward", "train.colocate_critic_reward")
    total = _role(launch, "actor")
    if not colocated and reference and not _option(launch, "colocate_actor_ref", "train.colocate_actor_ref"):
        total += _role(launch, "ref")
    if critic and (together or not colocated):
        total += _role(launch, "critic")
    if not remote and not colocated and not (critic and together):
        total += _role(launch, "reward")
    return total if alone else total + _engines(launch)


def _option(launch: Launch, old: str, new: str, default: Any = None) -> Any:
    """Value of an option in either spelling."""
    setting = launch.arguments.get(old) or launch.arguments.get(new)
    return default if setting is None else setting.value


def _number(launch: Launch, old: str, new: str, default: float) -> float:
    return float(_option(launch, old, new, default))


def _role(launch: Launch, name: str) -> float:
    nodes = _number(launch, f"{name}_num_nodes", f"{name}.num_nodes", _NODES)
    return nodes * _number(launch, f"{name}_num_gpus_per_node", f"{name}.num_gpus_per_node", _PER_NODE)


def _engines(launch: Launch) -> float:
    engines = _number(launch, "vllm_num_engines", "vllm.num_engines", 0)
    return engines * _number(launch, "vllm_tensor_parallel_size", "vllm.tensor_parallel_size", 1)
