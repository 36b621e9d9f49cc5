"""ms-swift's command: `swift rlhf|sft|pt [FILE.yaml] --key value ...`, as far as it concerns processes and files.

Its arguments are its own, with defaults of its own, and are not judged as TRL's. How processes come about, what the
file in front of the arguments means and which DeepSpeed files it brings:
https://github.com/modelscope/ms-swift/blob/main/swift/cli/main.py
https://github.com/modelscope/ms-swift/blob/main/swift/arguments/sft_args.py (`_init_deepspeed`)
https://github.com/modelscope/ms-swift/tree/main/swift/config
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from doctor.facts.base import Settings
from doctor.facts.launch import Launch
from doctor.facts.located import Located, load_json, load_yaml

#: names that `--deepspeed` takes for files inside the package -> (stage, where optimizer and parameters live)
PRESETS = {
    "zero0": (0, "none", "none"), "zero1": (1, "none", "none"), "zero2": (2, "none", "none"),
    "zero3": (3, "none", "none"), "zero2_offload": (2, "cpu", "none"), "zero3_offload": (3, "cpu", "cpu"),
}  # fmt: skip


#: programs of the package that a launcher may start themselves: `torchrun swift/cli/sft.py`
_PROGRAMS = ("sft", "pt", "rlhf")


def is_swift(launch: Launch) -> bool:
    """Whether the command trains with ms-swift, by its own launcher or by another one that starts its programs."""
    if launch.kind == "swift":
        return True
    program = launch.module or (launch.script or "").removesuffix(".py").replace(os.sep, ".")
    return any(program.endswith(f"swift.cli.{each}") for each in _PROGRAMS)


def settings_of(launch: Launch) -> Settings:
    """The file's keys, and over them those of the command line, as argparse takes the last one."""
    config = _config(launch)
    return {**(config.settings if config is not None else {}), **launch.arguments}


def variables_of(launch: Launch, variables: Mapping[str, str]) -> dict[str, str]:
    """The command's environment; what the file's `ENV` adds does not change what is there."""
    config = _config(launch)
    written = config.document.get("ENV") if config is not None else None
    added = {str(name): str(value) for name, value in written.items()} if isinstance(written, Mapping) else {}
    return {**added, **variables}


def unreadable(launch: Launch) -> str | None:
    """Why the file cannot be read, in which processes and anything else may be set; None where it can."""
    config = _config(launch)
    if config is None or config.broken is None:
        return None
    return f"`{launch.script_args[0]}` cannot be read: {config.broken.message}"


def preset_of(launch: Launch) -> str | None:
    """Name of the package's DeepSpeed file that is asked for; None for a file of the user's, or none."""
    setting = settings_of(launch).get("deepspeed")
    return str(setting.value) if setting is not None and setting.value in PRESETS else None


def _config(launch: Launch) -> Located | None:
    """The file in front of the arguments."""
    first = launch.script_args[0] if launch.script_args else ""
    path = os.path.normpath(os.path.join(launch.folder, first))  # noqa: PTH118 - no file is touched
    if first.endswith(".json"):
        return load_json(path)
    return load_yaml(path) if first.endswith((".yaml", ".yml")) else None
