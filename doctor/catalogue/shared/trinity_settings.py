"""What the checks of Trinity-RFT share: the configuration with the defaults of the installed release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import Skip
from doctor.catalogue.settings import whole
from doctor.catalogue.shared.proofs import proof
from doctor.data import ConfigKey
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

ROLLOUT_MODEL = "explorer.rollout_model."
AUXILIARY = "explorer.auxiliary_models"
SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
#: engines that use no GPU of the cluster
REMOTE = {"external", "tinker"}


class _Unknown:
    """A value that only running Trinity-RFT would tell."""


UNKNOWN = _Unknown()


@record
class Trinity:
    """One configuration; `keys` are those of the installed release, `*` for an index or a name of the user's."""

    version: str
    keys: Mapping[str, ConfigKey]
    config: TrinityConfig

    def setting(self, key: str) -> Observed | None:
        """What the user wrote for a key."""
        return self.config.settings.get(key)

    def value(self, key: str) -> Any:
        """Value of a key: the user's, else the default of the release; `UNKNOWN` where it refers to something else."""
        setting = self.setting(key)
        if setting is not None:
            return setting.value if setting.known else UNKNOWN
        leaf = self.keys.get(key) or self.keys.get(starred(key))
        return leaf.default if leaf is not None else None

    def number(self, key: str) -> int | None:
        """Value of a key as a whole number, None where it is none or not known."""
        value = self.value(key)
        return None if value is UNKNOWN else whole(value)

    def quoted(self, *keys: str) -> tuple[Observed, ...]:
        """Evidence of keys: as the user wrote them, else with the default."""
        found = []
        for key in keys:
            setting = self.setting(key)
            text = f"{key}: {self.value(key)}"
            found.append(proof(setting) if setting else Observed.quoted(f"default of Trinity-RFT {self.version}", text))
        return tuple(found)

    def settings(self, *keys: str) -> tuple[Observed, ...]:
        """Those of the keys that the user wrote."""
        return tuple(setting for setting in map(self.setting, keys) if setting is not None)

    @property
    def has_stages(self) -> bool:
        """Whether stages replace parts of the configuration one after the other."""
        return any(key == "stages" or key.startswith("stages.") for key in self.config.settings)

    def gpus_of(self, model: str) -> int | None:
        """GPUs of the engines of one inference model, None where a number is not known."""
        if self.value(model + "engine_type") in REMOTE:
            return 0
        product = self.number(model + "engine_num")
        for name in SIZES:
            if starred(model + name) in self.keys:
                size = self.number(model + name)
                product = product * size if product is not None and size is not None else None
        return product

    @property
    def explorer_gpus(self) -> int | None:
        """GPUs of the rollout model and the auxiliary models together."""
        written = self.setting(AUXILIARY)
        if written is not None and not isinstance(written.value, list):
            return None
        count = len(written.value) if written is not None else 0
        parts = [self.gpus_of(ROLLOUT_MODEL), *(self.gpus_of(f"{AUXILIARY}.{at}.") for at in range(count))]
        return None if None in parts else sum(part or 0 for part in parts)

    @property
    def cluster_gpus(self) -> int | None:
        """GPUs of the cluster where the user says them; Trinity-RFT asks Ray otherwise."""
        each, nodes = self.setting("cluster.gpu_per_node"), self.setting("cluster.node_num")
        if each is None or nodes is None or not each.known or not nodes.known:
            return None
        return (whole(each.value) or 0) * (whole(nodes.value) or 0) or None


def starred(key: str) -> str:
    """A key with its list indices as `*`."""
    return ".".join("*" if part.isdecimal() else part for part in key.split("."))


def trinity_of(config: TrinityConfig, packages: Packages) -> Trinity | tuple[Skip, ...]:
    """The configuration, or why it cannot be judged (nothing, where its file is broken)."""
    if config.broken is not None and not config.settings:
        return ()
    version = packages.version("trinity-rft")
    if version is None:
        return (Skip("the installed version of Trinity-RFT is not known"),)
    keys = data.trinity_keys(version)
    if keys is None:
        return (Skip(f"the keys of Trinity-RFT {version} are not in the doctor's data"),)
    return Trinity(version, keys, config)
