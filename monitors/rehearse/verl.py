"""veRL's driver: its own check judges the user's values and the shortened ones, then the run goes on, or its parts do.

Every entry of veRL's is a task of Hydra's: where its configuration was composed, by whatever command, it is looked at
and changed as overrides with `++` would (https://hydra.cc/docs/advanced/override_grammar/basic/). Keys:
https://verl.readthedocs.io/en/latest/examples/config.html
The check is `validate_config` since 0.6, a method of the trainer before:
https://github.com/volcengine/verl/blob/v0.6.0/verl/utils/config.py
https://github.com/volcengine/verl/blob/v0.5.0/verl/trainer/ppo/ray_trainer.py
"""

from __future__ import annotations

import functools
import importlib
import os
import types
from collections.abc import Mapping
from typing import Any, Callable, Optional

from doctor.monitors.rehearse import journal, plans
from doctor.monitors.rehearse.loops import RehearsalOver
from doctor.monitors.rehearse.settings import settings, with_real_models

#: sections by which a configuration is told to be veRL's
_SECTIONS = ("data", "trainer")
_MODELS = ("actor_rollout_ref", "model")
#: rows that a rehearsal trains on and validates with
_ROWS, _VALIDATED = 64, 16


def tasks(module: Any) -> None:
    """Stand around every task that Hydra's decorator makes."""
    original = module.main

    @functools.wraps(original)
    def main(*args: Any, **kwargs: Any) -> Any:
        decorate = original(*args, **kwargs)
        return lambda task: decorate(_around(task))

    module.main = main


def _around(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def rehearsed(config: Any) -> Any:
        if not is_verls(config):
            return original(config)
        with journal.phase("configuration"):
            validated(config)
            if not shortened(config):  # a bug of ours, which is noted: the run would have its real length
                raise RehearsalOver(0)
            validated(config)
        if _has_gpu():
            return original(config)
        _parts(config)
        raise RehearsalOver(0)

    return rehearsed


@journal.shielded
def is_verls(config: Any) -> bool:
    """Whether a composed configuration has veRL's sections, in a program that has loaded veRL."""
    names = set(config) if isinstance(config, Mapping) or hasattr(config, "keys") else set()
    return _loaded() and names.issuperset(_SECTIONS) and not names.isdisjoint(_MODELS)


def _loaded() -> bool:
    import sys

    return "verl" in sys.modules


def validated(config: Any) -> None:
    """Have veRL judge a copy of a configuration, for its check fills in values.

    Raises:
        Exception: whatever veRL raises.

    """
    from omegaconf import OmegaConf

    if "actor_rollout_ref" not in config:  # its supervised trainers judge theirs in their workers
        return
    copy = OmegaConf.create(OmegaConf.to_container(config, resolve=False))
    OmegaConf.resolve(copy)
    policy, critic = uses_reference(copy), uses_critic(copy)
    own = _attribute("verl.utils.config", "validate_config")
    if own is not None:
        own(copy, use_reference_policy=policy, use_critic=critic)
        return
    trainer = _attribute("verl.trainer.ppo.ray_trainer", "RayPPOTrainer")
    method = getattr(trainer, "_validate_config", None)
    if method is None:
        journal.left_out("configuration", "no_check_of_its_own", framework="veRL")
        return
    method(types.SimpleNamespace(config=copy, use_reference_policy=policy, use_critic=critic))


def uses_reference(config: Any) -> bool:
    """Whether the run has a reference policy: `need_reference_policy` of veRL's, from the configuration alone."""
    algorithm, actor = config.get("algorithm") or {}, config.actor_rollout_ref.get("actor") or {}
    return bool(algorithm.get("use_kl_in_reward") or actor.get("use_kl_loss"))


def uses_critic(config: Any) -> bool:
    """Whether the run has a critic: as set, else where advantages are GAE's."""
    enabled = (config.get("critic") or {}).get("enable")
    return bool(enabled) if enabled is not None else (config.get("algorithm") or {}).get("adv_estimator") == "gae"


@journal.shielded
def shortened(config: Any) -> bool:
    """Let a run end after its first steps, and keep what it writes in the rehearsal's folder; True if done."""
    from omegaconf import OmegaConf

    steps = settings().steps
    values: dict[str, Any] = {
        "trainer.total_training_steps": steps, "trainer.logger": ["console"], "trainer.resume_mode": "disable",
        "trainer.default_local_dir": str(settings().root / "out" / "verl"), "trainer.val_before_train": False,
        "data.train_max_samples": _ROWS, "data.val_max_samples": _VALIDATED,
    }  # fmt: skip
    trainer = config.trainer
    for name in ("save_freq", "test_freq"):
        value = trainer.get(name)
        if isinstance(value, int) and value > 0:
            values[f"trainer.{name}"] = steps
    if str(trainer.get("resume_mode") or "disable") == "resume_path":
        journal.left_out("resume", "own_state", folder=str(trainer.get("resume_from_path")))
    for name, value in values.items():
        before = OmegaConf.select(config, name)
        if before != value:
            OmegaConf.update(config, name, value, force_add=True)
            journal.once("argument", name, name=name, before=str(before), after=str(value))
    return True


def _parts(config: Any) -> None:
    """Rehearse data and reward of a run whose workers need a GPU.

    Raises:
        Exception: what the run would end with.

    """
    from omegaconf import OmegaConf

    from doctor.monitors.rehearse import parts

    def get(*keys: str) -> Any:
        found = (OmegaConf.to_container(OmegaConf.create({"v": OmegaConf.select(config, each)})) for each in keys)
        return next((each["v"] for each in found if each["v"] is not None), None)  # type: ignore[index, call-overload]

    with_real_models()
    owner = plans.verl_reward(get)
    arguments = (get(f"{owner}.reward_kwargs") or {}) if owner else {}
    made = plans.placed(plans.of_verl(get, arguments, supervised="actor_rollout_ref" not in config), os.getcwd())
    if made is None:
        journal.write("parts", framework="veRL")
        return
    parts.rehearsed({**made, "framework": "veRL"})


def _attribute(module: str, name: str) -> Optional[Any]:
    """What a module of the release at hand has by a name; None where it has neither."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


@journal.shielded
def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())
