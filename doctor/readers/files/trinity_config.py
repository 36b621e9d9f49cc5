"""Collects the fact `trinity_config`."""

from __future__ import annotations

import os

from doctor.base.fact import Context, DoesNotApply, Unavailable, fact
from doctor.facts.launch import Launch
from doctor.facts.trinity_config import TrinityConfig


@fact(about="command")
def collect(context: Context, launch: Launch) -> TrinityConfig:
    """Read the YAML and the trainer's own file that it names.

    Raises:
        Unavailable: the command does not start Trinity-RFT, or names no file (`trinity studio`).

    """
    if launch.kind != "trinity":
        raise DoesNotApply("the command does not start Trinity-RFT")
    named = launch.option("config")
    if named is None or not named.text:
        raise Unavailable("the command names no Trinity-RFT configuration")
    from doctor.readers.files.settings import load_yaml

    folder = launch.folder or str(context.cwd)
    path = os.path.normpath(os.path.join(folder, named.text))  # noqa: PTH118
    found = load_yaml(path, omegaconf=True)
    command = launch.subcommand or "run"
    trainer = found.settings.get("trainer.trainer_config_path")
    if trainer is None or not trainer.known or not isinstance(trainer.value, str) or not trainer.value:
        return TrinityConfig(path, command, found.settings, broken=found.broken)
    if any(name.startswith("trainer.trainer_config.") for name in found.settings):
        return TrinityConfig(path, command, found.settings, broken=found.broken)  # then the path is not read
    theirs = load_yaml(os.path.normpath(os.path.join(folder, trainer.value)), omegaconf=True)  # noqa: PTH118
    return TrinityConfig(path, command, found.settings, theirs.settings, theirs.broken)
