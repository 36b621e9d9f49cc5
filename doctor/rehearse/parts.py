"""What of a framework's run can be rehearsed without its workers: data and reward, as its configuration names them.

Keys and defaults: https://verl.readthedocs.io/en/latest/examples/config.html
https://openrlhf.readthedocs.io/en/latest/rl.html https://docs.skyrl.ai/docs/datasets/dataset-preparation
https://modelscope.github.io/Trinity-RFT/en/main/tutorial/trinity_configs.html
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.base.fact import Context
from doctor.monitors.inject.lay import PATIENT
from doctor.readers.collector import Collector
from doctor.run.folder import RunDir

_PROGRAM = ("lib", "doctor", "monitors", "rehearse", "parts.py")
_FACTS = frozenset({"interpreter", "launch", "verl_config", "trinity_config", "framework_config"})
#: veRL's defaults: tokens of a prompt, reward function of a file
_VERL_LIMIT, _VERL_NAME = 512, "compute_score"
_MOST_FILES = 16

Get = Callable[..., Any]


def parts_of(argv: Sequence[str], framework: str) -> tuple[str, dict[str, Any]] | None:
    """Interpreter and plan of what is rehearsed of a framework's run; None where its configuration names nothing.

    Args:
        argv: the user's command.
        framework: its name.

    """
    collector = Collector(Context(tuple(argv), Path.cwd(), dict(os.environ), None, False))
    with suppress(Exception):  # a fact less
        collector.ask(_FACTS)
    facts = {name: _value(collector, name) for name in _FACTS}
    python = getattr(facts["interpreter"], "executable", None)
    made = _PLANS[framework](facts) if framework in _PLANS else None
    if python is None or made is None:
        return None
    folder = getattr(facts["launch"], "folder", None) or str(Path.cwd())
    named = made["files"]
    files = [each for one in named for each in _paths(one, folder)][:_MOST_FILES]
    reward = made["reward"]
    if reward is not None and reward["path"] is not None:
        reward = {**reward, "path": os.path.normpath(os.path.join(folder, os.path.expanduser(reward["path"])))}  # noqa: PTH111, PTH118
    model = made["model"]
    if isinstance(model, str) and os.path.isdir(os.path.join(folder, os.path.expanduser(model))):  # noqa: PTH111, PTH112, PTH118
        model = os.path.join(folder, os.path.expanduser(model))  # noqa: PTH111, PTH118
    if not named and reward is None:
        return None
    return python, {**made, "framework": framework, "files": files, "reward": reward, "model": model}


def command_of(python: str, plan: Mapping[str, Any], run: RunDir) -> list[str]:
    """The program that rehearses a plan.

    Args:
        python: the interpreter that would train.
        plan: of the parts.
        run: folder of the run, into which everything is carried.

    Raises:
        OSError: the plan cannot be written.

    """
    path = run.path / "parts.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    library = run.path / PATIENT
    return [python, str(library.joinpath(*_PROGRAM)), str(library / "lib"), str(path)]


def _value(collector: Collector, name: str) -> Any:
    state = collector.states.get(name)
    return state.value if state is not None and state.status == "ok" else None


def _paths(named: Any, folder: str) -> list[str]:
    """Local files of one that is named; those of another machine are left out."""
    if not isinstance(named, str) or not named or "://" in named or "$" in named:
        return []
    path = os.path.normpath(os.path.join(folder, os.path.expanduser(named)))  # noqa: PTH111, PTH118
    found = sorted(glob.glob(path)) if any(each in named for each in "*?[") else []  # noqa: PTH207
    is_path = os.path.exists(path) or named.endswith((".parquet", ".json", ".jsonl", ".csv")) or named[0] in "/.~"  # noqa: PTH110
    return found or ([path] if is_path else [])


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _plan(files: Any, names: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """A plan with what every framework has; what one lacks is empty."""
    return {
        "files": _listed(files), "names": dict(names), "prompt": None, "label": None, "source": "data_source",
        "limit": None, "filtered": True, "truncation": "right", "template": True, "model": None,
        "trust_remote_code": False, "reward": None, **more,
    }  # fmt: skip


def _of_verl(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    config = facts["verl_config"]
    if config is None:
        return None
    get = _getter(config.get)
    names = {"files": "data.train_files", "prompt": "data.prompt_key"}
    model = get(
        "data.tokenizer", "actor_rollout_ref.model.tokenizer_path", "actor_rollout_ref.model.path", "model.path"
    )
    if "sft" in config.entry:  # its rows have keys of their own, and no reward
        return _plan(get("data.train_files"), names, model=model)
    settings = {**config.base, **config.overrides}
    owner = next((each for each in _VERL_REWARDS if get(f"{each}.path")), None)
    manager = str(get("reward.reward_manager.name", "reward_manager.name", "reward_model.reward_manager") or "naive")
    arguments = {
        name.rpartition(".")[2]: each.value
        for name, each in settings.items()
        if owner is not None and each.known and name.startswith(f"{owner}.reward_kwargs.")
    }
    reward = {
        "form": "batch" if manager == "batch" else "one",
        "path": None if owner is None else str(get(f"{owner}.path")),
        "name": "default_compute_score" if owner is None else str(get(f"{owner}.name") or _VERL_NAME),
        "arguments": arguments,
    }
    by_model = get("reward_model.enable", "reward.reward_model.enable") is True
    return _plan(
        get("data.train_files"), names, prompt=str(get("data.prompt_key") or "prompt"), model=model,
        source=str(get("data.reward_fn_key") or "data_source"),
        limit=_number(get("data.max_prompt_length"), _VERL_LIMIT),
        filtered=get("data.filter_overlong_prompts") is True, truncation=str(get("data.truncation") or "error"),
        trust_remote_code=get("data.trust_remote_code", "actor_rollout_ref.model.trust_remote_code") is True,
        reward=None if by_model and owner is None else reward,
    )  # fmt: skip


#: where veRL's releases name a reward function of the user's
_VERL_REWARDS = ("custom_reward_function", "reward.custom_reward_function")


def _of_openrlhf(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    config = facts["framework_config"]
    if config is None:
        return None
    path = config.value("remote_rm_url", "remote_url")
    path = path[0] if isinstance(path, list) and path else path
    reward = {"form": "labels", "path": path, "name": "reward_func", "arguments": {}}
    return _plan(
        config.value("prompt_data", "prompt_dataset", "data.prompt_dataset"),
        {"files": "prompt_data", "prompt": "input_key"}, prompt=str(config.value("input_key") or "input"),
        label=config.value("label_key"), template=config.value("apply_chat_template") in (True, "true"),
        model=config.value("pretrain", "actor.model_name_or_path"),
        reward=reward if isinstance(path, str) and path.endswith(".py") else None,
    )  # fmt: skip


def _of_skyrl(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    config = facts["framework_config"]
    if config is None:
        return None
    return _plan(
        config.value("data.train_data"), {"files": "data.train_data", "prompt": "prompt"}, prompt="prompt",
        limit=_number(config.value("trainer.max_prompt_length"), None), model=config.value("trainer.policy.model.path"),
    )  # fmt: skip


def _of_trinity(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    config = facts["trinity_config"]
    if config is None:
        return None
    get = _getter(config.settings.get)
    taskset = "buffer.explorer_input.taskset"
    return _plan(
        get(f"{taskset}.path"), {"files": f"{taskset}.path", "prompt": f"{taskset}.format.prompt_key"},
        prompt=str(get(f"{taskset}.format.prompt_key") or "prompt"), model=get("model.model_path"),
        limit=_number(get("model.max_prompt_tokens"), None),
    )  # fmt: skip


_PLANS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {
    "veRL": _of_verl, "OpenRLHF": _of_openrlhf, "SkyRL": _of_skyrl, "Trinity-RFT": _of_trinity,
}  # fmt: skip


def _getter(get: Callable[[str], Any]) -> Get:
    """The known value of the first of several keys that is set."""

    def value(*keys: str) -> Any:
        found = (get(each) for each in keys)
        return next((each.value for each in found if each is not None and each.known and each.value is not None), None)

    return value


def _number(value: Any, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
