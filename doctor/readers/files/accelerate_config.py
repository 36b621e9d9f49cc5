"""Collects the fact `accelerate_config`."""

from __future__ import annotations

import os

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, Context, DoesNotApply, Unavailable, fact
from doctor.facts.accelerate_config import _SHIPPED, AccelerateConfig
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.readers.command.trl_config import launcher_options


@fact(about="command")
def collect(context: Context, launch: Launch, environment: Environment | None) -> AccelerateConfig:
    """Read the file that accelerate would read.

    Raises:
        Unavailable: accelerate's launcher is not used, or it would read none.

    """
    if launch.kind not in {"accelerate", "trl"}:
        raise DoesNotApply("the command does not use accelerate's launcher")
    options = launcher_options(launch)
    folder = launch.folder or str(context.cwd)
    shipped = options.get("accelerate_config")
    if shipped is not None and shipped.text:
        return _named_by_trl(shipped, folder)
    named = options.get("config_file")
    if named is not None and named.text:
        return _read(os.path.join(folder, named.text))  # noqa: PTH118 - keeps what the user wrote recognisable
    if "cpu" in options:
        raise Unavailable("`accelerate launch --cpu` reads no configuration file that it was not given")
    path = _default_path(environment) if environment is not None else None
    if path is None or not os.path.isfile(path):  # noqa: PTH113 - accelerate asks the same
        raise Unavailable("accelerate has no configuration file here")
    return _read(path, is_default=True)


def _named_by_trl(setting: Observed, folder: str) -> AccelerateConfig:
    """`--accelerate_config`: a file, or the name of one that TRL ships."""
    from doctor.data.launchers import trl_accelerate_config
    from doctor.readers.files.settings import settings_of

    path = os.path.join(folder, setting.text)  # noqa: PTH118
    if os.path.isfile(path):  # noqa: PTH113
        return _read(path)
    shipped = f"{_SHIPPED}{setting.text}.yaml"
    content = trl_accelerate_config(setting.text)
    if content is None:
        message = "it is neither a file nor the name of a configuration that TRL ships"
        return AccelerateConfig(path, broken=BrokenFile(setting.place or Place(setting.text), message))
    return AccelerateConfig(shipped, settings_of(content, Place(shipped)))


def _default_path(environment: Environment) -> str | None:
    home = environment.get("HOME") or ""
    cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
    hub = environment.get("HF_HOME") or f"{cache}/huggingface"
    if hub.startswith("~/"):
        hub = home + hub[1:] if home else ""
    return f"{hub}/accelerate/default_config.yaml" if hub else None


def _read(path: str, *, is_default: bool = False) -> AccelerateConfig:
    from doctor.readers.files.settings import load_json, load_yaml

    path = os.path.normpath(path)
    found = load_json(path) if path.endswith(".json") else load_yaml(path)
    return AccelerateConfig(path, found.settings, is_default, found.broken, found.repeated_keys)
