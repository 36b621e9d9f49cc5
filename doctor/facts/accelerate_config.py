"""accelerate's YAML: the file that `accelerate launch` would read.

Which one that is: accelerate/commands/config/config_args.py and launch.py, `--accelerate_config` in trl/cli.
"""

from __future__ import annotations

from dataclasses import field

from doctor.base.fact import BrokenFile, RepeatedKey, Settings
from doctor.base.record import record


@record
class AccelerateConfig:
    """Keys of the YAML, nested ones dotted (`deepspeed_config.zero_stage`), each with line and column.

    `is_default`: it is the file under the user's cache, which nobody named on the command line.
    """

    path: str
    settings: Settings = field(default_factory=dict)
    is_default: bool = False
    broken: BrokenFile | None = None
    repeated_keys: tuple[RepeatedKey, ...] = ()

    @property
    def is_shipped(self) -> bool:
        """Whether it is one of the files that come with TRL (`--accelerate_config zero3`)."""
        return self.path.startswith(_SHIPPED)


_SHIPPED = "trl/accelerate_configs/"
