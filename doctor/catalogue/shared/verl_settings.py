"""What the checks of veRL share: the configuration as Hydra composes it, from the user's settings over the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.catalogue.finding import Skip
from doctor.catalogue.settings import truth, whole
from doctor.catalogue.shared.proofs import proof
from doctor.data import ConfigKey
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

ENTRY = "verl.trainer.main_ppo"
CONFIGS = {"ppo_trainer", "ppo_megatron_trainer"}
ACTOR = "actor_rollout_ref.actor."
ROLLOUT = "actor_rollout_ref.rollout."
REF = "actor_rollout_ref.ref."

_REFERENCE = later(r"\$\{(?:oc\.select:)?([\w.]+)(?:,([^${}]*))?\}")
_DEEPEST = 8


#: these hand each row to a function that is chosen by its column `data_source` (verl/workers/reward_manager/)
_OF_ROWS = frozenset({"naive", "prime", "batch", "dapo"})
#: what other rewards, loaders and loops of the user's own are named by
_OWN = ("data.custom_cls.path", "reward_model.enable", "reward.reward_model.enable", "reward.reward_manager.source")
#: a function of the user's own that scores the answers
OWN_FUNCTIONS = ("custom_reward_function.path", "reward.custom_reward_function.path")


def has_own_rewards(verl_config: VerlConfig) -> bool:
    """Whether rows are loaded or scored by something else than veRL's managers of rewards, as far as that is told."""
    manager = verl_config.get("reward_model.reward_manager") or verl_config.get("reward.reward_manager.name")
    named = (verl_config.get(name) for name in _OWN)
    own = any(each is not None and (not each.known or each.value not in {None, False, "register"}) for each in named)
    return own or (manager is not None and manager.value not in _OF_ROWS)


class _Unknown:
    """A value that cannot be told without running veRL."""


UNKNOWN = _Unknown()


@record
class Verl:
    """The composed configuration of one run; `keys` are those of the installed release.

    Where the user's own file is the configuration, its `defaults` are not followed: only what it says itself is known.
    """

    version: str
    keys: Mapping[str, ConfigKey]
    config: VerlConfig

    def value(self, key: str, depth: int = 0) -> Any:
        """Value of a dotted key: the user's, else the default; None where it is null or absent; else `UNKNOWN`."""
        setting = self.config.get(key)
        if setting is not None:
            return self._followed(setting.value, depth) if setting.known else UNKNOWN
        written = (*self.config.overrides, *self.config.base)
        if any(key.startswith(f"{each}.") for each in written):
            return UNKNOWN  # a whole group was replaced
        if self.is_own:
            return UNKNOWN
        leaf = self.keys.get(key)
        return None if leaf is None else self._followed(leaf.default, depth)

    def _followed(self, value: Any, depth: int) -> Any:
        if not isinstance(value, str) or "${" not in value:
            return value
        match = _REFERENCE.fullmatch(value.strip())
        if match is None or depth > _DEEPEST:
            return UNKNOWN
        found = self.value(match[1], depth + 1)
        if found is None and match[2] is not None:
            return whole(match[2]) if whole(match[2]) is not None else match[2]
        return found

    def number(self, key: str) -> int | None:
        """Value of a key as a whole number, None where it is none or not known."""
        value = self.value(key)
        return None if value is UNKNOWN else whole(value)

    def is_on(self, key: str) -> bool | None:
        """Value of a switch; an absent or null one is off; None where it is not known."""
        value = self.value(key)
        return None if value is UNKNOWN else truth(value)

    def quoted(self, *keys: str) -> tuple[Observed, ...]:
        """Evidence of keys: as the user wrote them, else with veRL's default."""
        found = []
        for key in keys:
            setting = self.config.get(key)
            text = f"{key}: {self.value(key)}"
            found.append(proof(setting) if setting else Observed.quoted(f"default of veRL {self.version}", text))
        return tuple(found)

    @property
    def is_own(self) -> bool:
        """Whether the configuration is a file of the user's."""
        return self.config.base_path is not None

    @property
    def gpus(self) -> int | None:
        """GPUs of the actor over all machines."""
        each, machines = self.number("trainer.n_gpus_per_node"), self.number("trainer.nnodes")
        return each * machines if each and machines else None

    @property
    def is_fsdp(self) -> bool:
        """Whether the actor is trained with FSDP, which all arithmetic here is about."""
        return self.value(ACTOR + "strategy") in {"fsdp", "fsdp2"} and self.config.config_name != "ppo_megatron_trainer"


def verl_of(config: VerlConfig, packages: Packages, launch: Launch) -> Verl | tuple[Skip, ...]:
    """The composed configuration, or why it cannot be judged (nothing, where the command is another program's)."""
    if config.entry != ENTRY or config.broken is not None:
        return ()
    version = packages.version("verl")
    if version is None or _shadowed(packages):
        return (Skip("the version of veRL that will run is not known"),)
    if any(key.startswith("hydra.searchpath") for key in config.overrides):
        return (Skip("`hydra.searchpath` adds configurations that are not read"),)
    asked = any(name in launch.arguments for name in ("config_path", "cp", "config_dir", "cd"))
    if config.base_path is None and (asked or config.config_name not in CONFIGS):
        return (Skip(f"the configuration `{config.config_name}` was not found"),)
    engine = config.overrides.get("model_engine")
    name = config.config_name if config.config_name in CONFIGS else "ppo_trainer"
    keys = data.verl_keys(version, name, str(engine.value) if engine else None)
    if keys is None:
        return (Skip(f"the keys of veRL {version} are not in the doctor's data"),)
    return Verl(version, keys, config)


def _shadowed(packages: Packages) -> bool:
    """Whether `import verl` takes another folder than the installed distribution, as in a checkout."""
    module, installed = packages.modules.get("verl"), packages.distributions.get("verl")
    if module is None or installed is None or not installed.location:
        return False
    return not module.startswith((installed.location, installed.editable_from or installed.location))


def place_settings(verl: Verl, *keys: str) -> tuple[Observed, ...]:
    """Settings of keys that the user wrote."""
    return tuple(setting for setting in map(verl.config.get, keys) if setting is not None)
