"""Shared by the checks of TRL, Transformers, PEFT, data, RL and numerics: settings, defaults, modes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from doctor import data
from doctor.base.evidence import Observed, Place
from doctor.base.record import record
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence
from doctor.catalogue.settings import truth, whole
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

COMMAND_LINE = "launch command"

#: defaults of transformers.TrainingArguments that every release of the GRPO era shares
#: (https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments)
TRAINING_DEFAULTS: dict[str, Any] = {
    "per_device_train_batch_size": 8,
    "per_device_eval_batch_size": 8,
    "gradient_accumulation_steps": 1,
    "eval_strategy": "no",
    "save_strategy": "steps",
    "save_steps": 500,
    "logging_steps": 500,
    "eval_steps": None,
    "fp16": False,
    "bf16": False,
    "use_cpu": False,
    "max_steps": -1,
    "load_best_model_at_end": False,
    "auto_find_batch_size": False,
}


@record
class Value:
    """An argument as the run will see it; `setting` is None where a default holds."""

    value: Any
    setting: Observed | None = None


def is_grpo(training: Training) -> bool:
    """Tell whether the command trains with TRL's GRPO."""
    return training.config_class == "GRPOConfig" or training.trainer == "GRPOTrainer"


def certainty(training: Training) -> Confidence:
    """Confirmed where TRL's own classes judge the arguments; a class of the user's may change them first."""
    origins = (training.trainer_origin, training.config_origin)
    return CONFIRMED if all(not each or each.startswith("trl.") for each in origins) else LIKELY


def argument(training: Training, name: str, trl_version: str | None) -> Value | None:
    """Return a GRPO argument, explicit or by default; None when it cannot be told.

    A release that lacks the argument gives `Value(None)`, as an unset one would be.
    """
    setting = training.get(name)
    if setting is not None:
        return Value(setting.value, setting) if setting.known else None
    if not training.complete:
        return None
    history = data.trl_argument("GRPOConfig", name)
    if history is not None and trl_version is not None:
        exists = history.exists_in(trl_version)
        if exists is None:
            return None
        if exists:
            return _literal(history.default_in(trl_version))
        if not history.inherited and name not in TRAINING_DEFAULTS:
            return Value(None)
    return Value(TRAINING_DEFAULTS[name]) if name in TRAINING_DEFAULTS else None


def _literal(text: str | None) -> Value | None:
    if text is None:
        return None
    try:
        return Value(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return None


def whole_argument(training: Training, name: str, trl_version: str | None) -> int | None:
    """Return a GRPO argument as a whole number; None when it is unset, unknown or something else."""
    found = argument(training, name, trl_version)
    return None if found is None else whole(found.value)


def vllm_mode(training: Training, trl_version: str) -> str | None:
    """Tell how GRPO will use vLLM: "off", "in-process", "server" or "colocate"; None when it cannot be told."""
    used = argument(training, "use_vllm", trl_version)
    if used is None or truth(used.value) is None:
        return None
    if not truth(used.value):
        return "off"
    release = data.trl_release(trl_version)
    setting = training.get("vllm_mode")
    if setting is not None:
        return str(setting.value) if setting.known else None
    if release is None or not training.complete:
        return None
    return release.vllm_mode_default


def quoted(*settings: Observed | None) -> tuple[Observed, ...]:
    """Quote the settings as they are written, one piece of evidence each."""
    return tuple(
        Observed.quoted(each.place.file, f"{each.name}={each.text or each.value}", each.place.line)
        if each.place
        else Observed.quoted(COMMAND_LINE, f"--{each.name} {each.text or each.value}")
        for each in settings
        if each is not None
    )


def installed(packages: Packages, name: str) -> str:
    """Return the version of a distribution as the metadata spell it, "?" where it is not known."""
    return packages.version(name) or "?"


def listing(names: Iterable[Any]) -> str:
    """Join names to `a`, `b`, `c` for a sentence."""
    return ", ".join(f"`{each}`" for each in names)


def config_place(training: Training) -> Place | None:
    """Return the call of the configuration class, else that of the trainer."""
    return training.config_place or training.trainer_place


def is_plain_python(launch: Launch, world: World, environment: Environment, training: Training) -> bool:
    """Tell whether one process is started without a launcher that sets RANK, and nobody else sets it."""
    alone = launch.kind == "python" and world.processes == 1
    by_hand = environment.get("RANK") is not None or "RANK" in training.environment_set
    return alone and not by_hand and not {"srun", "mpirun", "mpiexec"} & set(launch.wrappers)


#: trainers of TRL whose modules import vLLM wherever it is installed
#: (https://github.com/huggingface/trl/blob/v0.24.0/trl/trainer/grpo_trainer.py, rloo_trainer.py, online_dpo_trainer.py)
WITH_VLLM = {"GRPOTrainer", "RLOOTrainer", "OnlineDPOTrainer"}


def imports_grpo(launch: Launch | None, training: Training | None, script: Script | None) -> bool | None:
    """Tell whether the command imports TRL's GRPO trainer; True without a command, None where it cannot be told.

    `trl` with any subcommand does: https://github.com/huggingface/trl/blob/v0.24.0/trl/cli.py
    """
    if launch is None or launch.kind in {"trl", "trl-vllm-serve"}:
        return True
    if launch.serves or launch.kind in {"verl", "trinity", "ray"}:
        return False
    if launch.kind == "swift":
        return _swift_imports_grpo(launch)
    if training is not None and (is_grpo(training) or training.trainer in WITH_VLLM):
        return True
    if launch.kind == "unknown" or script is None or script.broken is not None:
        return None
    return any(name.startswith("trl.") and name.rpartition(".")[2] in WITH_VLLM for name in script.imports)


def _swift_imports_grpo(launch: Launch) -> bool | None:
    """ms-swift's own trainers stand on TRL's; only `--rlhf_type grpo` takes the one of GRPO.

    Source: https://github.com/modelscope/ms-swift/blob/main/swift/trainers/trainer_factory.py
    """
    kind = launch.arguments.get("rlhf_type")
    if launch.subcommand != "rlhf":
        return False
    return None if kind is None or not kind.known or kind.value == "grpo" else False


def imports_vllm(launch: Launch | None, training: Training | None, script: Script | None) -> bool | None:
    """Tell whether the command imports vLLM; True without a command, None where it cannot be told."""
    if launch is not None and launch.kind == "verl":
        rollout = launch.overrides.get("actor_rollout_ref.rollout.name")
        return rollout is None or not rollout.known or rollout.value == "vllm"
    if launch is not None and (launch.serves or launch.kind == "trinity"):
        return True
    if script is not None and any(name.split(".")[0] == "vllm" for name in script.imports):
        return True
    return imports_grpo(launch, training, script)


def unsloth_replaces(script: Script | None) -> bool:
    """Tell whether Unsloth puts its own classes in TRL's place: they take more arguments and mend batch sizes.

    https://github.com/unslothai/unsloth/blob/main/unsloth/models/rl.py
    """
    return script is not None and any(name.split(".")[0] == "unsloth" for name in script.imports)
