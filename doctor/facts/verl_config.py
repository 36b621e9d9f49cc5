"""veRL's configuration: Hydra overrides of the command over the file that `--config-path/--config-name` names."""

from __future__ import annotations

from dataclasses import field

from doctor.base.evidence import Observed
from doctor.base.fact import BrokenFile, Settings
from doctor.base.record import record


@record
class VerlConfig:
    """Overrides with dotted keys. `added` are those written with `+` or `++`, which Hydra lets introduce a key.

    `base_path`: the user's own YAML, when one is named and was found. `absent`: settings that name local files which
    this machine does not have. `nameless`: settings that name an object which the file that is set beside them does not
    define. `sources`: texts that scripts which run before write into the column `data_source` of rows.
    """

    entry: str  # module: verl.trainer.main_ppo
    config_name: str = "ppo_trainer"
    overrides: Settings = field(default_factory=dict)
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    base: Settings = field(default_factory=dict)  # the user's own YAML, when named and found
    broken: BrokenFile | None = None
    base_path: str | None = None
    absent: tuple[Observed, ...] = ()
    nameless: tuple[Observed, ...] = ()
    sources: tuple[Observed, ...] = ()

    def get(self, key: str) -> Observed | None:
        """The user's setting of a dotted key: override first, then their own YAML."""
        return self.overrides.get(key) or self.base.get(key)
