"""The file behind `trl grpo --config FILE`, as far as it concerns the launcher.

TRL takes the keys that its arguments' classes know and hands the others to `accelerate launch`, where the command line
has the last word (trl/cli/commands/training.py, `parse_args_and_config` in trl/scripts/utils.py).
"""

from __future__ import annotations

import os

from doctor.base.evidence import Observed
from doctor.base.fact import Settings
from doctor.facts.launch import Launch


def launcher_options(launch: Launch) -> Settings:
    """Options of the launcher: those on the command line over those in TRL's YAML."""
    config = launch.arguments.get("config") if launch.kind == "trl" else None
    if config is None or not config.text:
        return launch.options
    from doctor.data import launchers
    from doctor.readers.files.settings import load_yaml

    found = load_yaml(os.path.normpath(os.path.join(launch.folder, config.text)))  # noqa: PTH118 - no file is touched
    launcher = (launchers.names_of("accelerate") | {"accelerate_config"}) - launchers.names_of("trl")
    theirs = {name: _as_text(each) for name, each in found.settings.items() if name in launcher}
    return {**theirs, **launch.options}


def _as_text(setting: Observed) -> Observed:
    """The setting with the text that TRL hands on: Python's `str` of the value."""
    return Observed.written(setting.name, setting.value, setting.known, str(setting.value), setting.place)
