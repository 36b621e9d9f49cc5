"""Trinity-RFT's YAML, as `trinity run --config` reads it."""

from __future__ import annotations

from dataclasses import field

from doctor.base.fact import BrokenFile, Settings
from doctor.base.record import record


@record
class TrinityConfig:
    """Keys dotted (`explorer.rollout_model.engine_num`), each with its place; `command` is run, debug, studio ..."""

    path: str
    command: str = "run"
    settings: Settings = field(default_factory=dict)
    trainer_config: Settings = field(default_factory=dict)  # the veRL YAML that `trainer.trainer_config_path` names
    broken: BrokenFile | None = None
