"""What of a framework's run can be rehearsed without its workers: data and reward, as its configuration names them.

Keys and defaults of veRL: `doctor.monitors.rehearse.plans`; of the others:
https://openrlhf.readthedocs.io/en/latest/rl.html https://docs.skyrl.ai/docs/datasets/dataset-preparation
https://modelscope.github.io/Trinity-RFT/en/main/tutorial/trinity_configs.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.base.fact import Context
from doctor.monitors.inject.lay import PATIENT
from doctor.monitors.rehearse.plans import Get, number, of_verl, placed, plan, verl_reward
from doctor.readers.collector import Collector
from doctor.run.folder import RunDir

_PROGRAM = ("lib", "doctor", "monitors", "rehearse", "parts.py")
_FACTS = frozenset({"interpreter", "launch", "verl_config", "trinity_config", "framework_config"})


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
    whole = placed(made, folder)
    return None if whole is None else (python, {**whole, "framework": framework})


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


def _of_verl(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    config = facts["verl_config"]
    if config is None:
        return None
    get = _getter(config.get)
    owner = verl_reward(get)
    arguments = {
        name.rpartition(".")[2]: each.value
        for name, each in {**config.base, **config.overrides}.items()
        if owner is not None and each.known and name.startswith(f"{owner}.reward_kwargs.")
    }
    return of_verl(get, arguments, supervised="sft" in config.entry)


def _of_openrlhf(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    config = facts["framework_config"]
    if config is None:
        return None
    path = config.value("remote_rm_url", "remote_url")
    path = path[0] if isinstance(path, list) and path else path
    reward = {"form": "labels", "path": path, "name": "reward_func", "arguments": {}}
    return plan(
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
    return plan(
        config.value("data.train_data"), {"files": "data.train_data", "prompt": "prompt"}, prompt="prompt",
        limit=number(config.value("trainer.max_prompt_length"), None), model=config.value("trainer.policy.model.path"),
    )  # fmt: skip


def _of_trinity(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    config = facts["trinity_config"]
    if config is None:
        return None
    get = _getter(config.settings.get)
    taskset = "buffer.explorer_input.taskset"
    return plan(
        get(f"{taskset}.path"), {"files": f"{taskset}.path", "prompt": f"{taskset}.format.prompt_key"},
        prompt=str(get(f"{taskset}.format.prompt_key") or "prompt"), model=get("model.model_path"),
        limit=number(get("model.max_prompt_tokens"), None),
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
