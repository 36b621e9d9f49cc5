"""ms-swift's command: `swift rlhf|sft|pt [FILE.yaml] --key value ...`, as far as it concerns processes and files.

Its arguments are its own, with defaults of its own; `_training_swift` tells those that mean the same elsewhere. How
processes come about, what the file in front of the arguments means (from 4.1 on; before, the one of `--config`) and
which DeepSpeed files it brings:
https://github.com/modelscope/ms-swift/blob/main/swift/cli/main.py
https://github.com/modelscope/ms-swift/blob/main/swift/arguments/sft_args.py (`_init_deepspeed`)
https://github.com/modelscope/ms-swift/tree/main/swift/config
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from doctor.base.fact import Settings
from doctor.facts.launch import Launch
from doctor.readers.files.located import Located
from doctor.readers.files.settings import load_json, load_yaml

#: names that `--deepspeed` takes for files inside the package -> (stage, where optimizer and parameters live)
PRESETS = {
    "zero0": (0, "none", "none"), "zero1": (1, "none", "none"), "zero2": (2, "none", "none"),
    "zero3": (3, "none", "none"), "zero2_offload": (2, "cpu", "none"), "zero3_offload": (3, "cpu", "cpu"),
}  # fmt: skip


#: arguments of its own that checks ask for
JUDGED = (
    "beta", "columns", "config", "custom_dataset_info", "custom_register_path", "external_plugins", "kl_coef",
    "max_completion_length", "plugin", "quant_bits", "quant_method", "ref_model", "reward_funcs", "rlhf_type",
    "sft_type", "teacher_model", "teacher_model_server", "temperature", "top_k", "train_type", "truncation_strategy",
    "tuner_type", "use_liger_kernel", "use_ray",
)  # fmt: skip

#: its word for the way to train: of 4.x, 3.x, 2.x
_TUNER = ("tuner_type", "train_type", "sft_type")

#: programs of the package that a launcher may start themselves: `torchrun swift/cli/sft.py`
_PROGRAMS = ("sft", "pt", "rlhf")


def is_swift(launch: Launch) -> bool:
    """Whether the command trains with ms-swift, by its own launcher or by another one that starts its programs."""
    if launch.kind == "swift":
        return True
    program = launch.module or (launch.script or "").removesuffix(".py").replace(os.sep, ".")
    return any(program.endswith(f"swift.cli.{each}") for each in _PROGRAMS)


def settings_of(launch: Launch) -> Settings:
    """Arguments of command line and file as argparse takes them, the last one of each.

    The file in front of the arguments comes first, that of `--config` last
    (https://github.com/modelscope/ms-swift/blob/v4.0.4/swift/cli/main.py, `prepare_config_args`).
    """
    config = _config(launch)
    written = config.settings if config is not None else {}
    return {**launch.arguments, **written} if "config" in launch.arguments else {**written, **launch.arguments}


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
    return f"`{_file(launch)}` cannot be read: {config.broken.message}"


def tuner(given: Settings) -> str:
    """`lora`, `full` or another way to train; LoRA where none is given."""
    setting = next((given[name] for name in _TUNER if name in given), None)
    return str(setting.value) if setting is not None and setting.known else "lora" if setting is None else ""


def preset_of(launch: Launch) -> str | None:
    """Name of the package's DeepSpeed file that is asked for; None for a file of the user's, or none."""
    setting = settings_of(launch).get("deepspeed")
    return str(setting.value) if setting is not None and setting.value in PRESETS else None


def _config(launch: Launch) -> Located | None:
    """The file of arguments."""
    first = _file(launch)
    path = os.path.normpath(os.path.join(launch.folder, first))  # noqa: PTH118 - no file is touched
    if first.endswith(".json"):
        return load_json(path)
    return load_yaml(path) if first.endswith((".yaml", ".yml")) else None


def _file(launch: Launch) -> str:
    """The file that `--config` names, else the first word."""
    named = launch.arguments.get("config")
    if named is not None:
        return named.text
    return launch.script_args[0] if launch.script_args else ""
