"""What of a framework's run is rehearsed without its workers: a plan of files, prompts, lengths, reward; pure.

Keys and defaults: https://verl.readthedocs.io/en/latest/examples/config.html
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any, Callable, Optional

#: veRL's defaults: tokens of a prompt, reward function of a file
_VERL_LIMIT, _VERL_NAME = 512, "compute_score"
#: where veRL's releases name a reward function of the user's
_VERL_REWARDS = ("custom_reward_function", "reward.custom_reward_function")
_MOST_FILES = 16

Get = Callable[..., Any]


def plan(files: Any, names: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """A plan with what every framework has; what one lacks is empty."""
    return {
        "files": _listed(files), "names": dict(names), "prompt": None, "label": None, "source": "data_source",
        "limit": None, "filtered": True, "truncation": "right", "template": True, "model": None,
        "trust_remote_code": False, "reward": None, **more,
    }  # fmt: skip


def placed(made: Mapping[str, Any], folder: str) -> Optional[dict[str, Any]]:
    """The plan with paths that do not depend on the working folder; None where it names neither data nor reward.

    Args:
        made: as `plan` gives it.
        folder: that the command runs in.

    """
    files = [each for one in made["files"] for each in _paths(one, folder)][:_MOST_FILES]
    reward, model = made["reward"], made["model"]
    if reward is not None and reward["path"] is not None:
        reward = {**reward, "path": _joined(folder, reward["path"])}
    if isinstance(model, str) and os.path.isdir(_joined(folder, model)):
        model = _joined(folder, model)
    if not made["files"] and reward is None:
        return None
    return {**made, "files": files, "reward": reward, "model": model}


def of_verl(get: Get, arguments: Mapping[str, Any], *, supervised: bool) -> dict[str, Any]:
    """The plan of a run of veRL.

    Args:
        get: the known value of the first of several dotted keys that is set.
        arguments: `reward_kwargs` of the user's reward function.
        supervised: whether it is one of veRL's trainers without rewards, whose rows have keys of their own.

    """
    names = {"files": "data.train_files", "prompt": "data.prompt_key"}
    model = get(
        "data.tokenizer", "actor_rollout_ref.model.tokenizer_path", "actor_rollout_ref.model.path", "model.path",
        "model.partial_pretrain",
    )  # fmt: skip
    if supervised:
        return plan(get("data.train_files"), names, model=model)
    owner = verl_reward(get)
    by_model = get("reward_model.enable", "reward.reward_model.enable") is True
    return plan(
        get("data.train_files"), names, prompt=str(get("data.prompt_key") or "prompt"), model=model,
        source=str(get("data.reward_fn_key") or "data_source"),
        limit=number(get("data.max_prompt_length"), _VERL_LIMIT),
        filtered=get("data.filter_overlong_prompts") is True, truncation=str(get("data.truncation") or "error"),
        trust_remote_code=get("data.trust_remote_code", "actor_rollout_ref.model.trust_remote_code") is True,
        reward=None if by_model and owner is None else _verl_function(get, owner, arguments),
    )  # fmt: skip


def verl_reward(get: Get) -> Optional[str]:
    """Where a configuration of veRL names a reward function of the user's; None where it names none."""
    return next((each for each in _VERL_REWARDS if get(f"{each}.path")), None)


def _verl_function(get: Get, owner: Optional[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    manager = str(get("reward.reward_manager.name", "reward_manager.name", "reward_model.reward_manager") or "naive")
    return {
        "form": "batch" if manager == "batch" else "one",
        "path": None if owner is None else str(get(f"{owner}.path")),
        "name": "default_compute_score" if owner is None else str(get(f"{owner}.name") or _VERL_NAME),
        "arguments": dict(arguments),
    }


def number(value: Any, default: Optional[int]) -> Optional[int]:
    """A whole number, or the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _joined(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def _paths(named: Any, folder: str) -> list[str]:
    """Local files of one that is named; those of another machine are left out."""
    if not isinstance(named, str) or not named or "://" in named or "$" in named:
        return []
    path = _joined(folder, named)
    found = sorted(glob.glob(path)) if any(each in named for each in "*?[") else []
    is_path = os.path.exists(path) or named.endswith((".parquet", ".json", ".jsonl", ".csv")) or named[0] in "/.~"
    return found or ([path] if is_path else [])
