"""What the launchers' rules for processes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import Settings
from doctor.base.record import record
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.visible import listed, visible
from doctor.readers.script.shell_words import unknown


@record
class Asked:
    """Everything that the number of processes may depend on; `variables` is the environment of the command."""

    launch: Launch
    options: Settings
    accelerate: AccelerateConfig | None
    deepspeed: DeepspeedConfig | None
    gpus: Gpus | None
    training: Training | None
    variables: Mapping[str, str]

    @property
    def visible_count(self) -> int | None:
        """`torch.cuda.device_count()` in the launcher, None when GPUs cannot be seen."""
        value = self.variables.get("CUDA_VISIBLE_DEVICES")
        return None if self.gpus is None else len(visible(self.gpus, value)[0])

    @property
    def uses_cpu(self) -> bool:
        """Whether the training arguments ask for the CPU."""
        return self.training is not None and True in (self.training.value("use_cpu"), self.training.value("no_cuda"))

    def from_yaml(self, name: str) -> Observed | None:
        """A key of accelerate's file."""
        if self.accelerate is None or self.accelerate.broken is not None:
            return None
        return self.accelerate.settings.get(name)

    def either(self, name: str) -> Observed | None:
        """An option of accelerate: command line first, then its file."""
        option = self.options.get(name)
        return option if option is not None else self.from_yaml(name)

    def on(self, name: str) -> bool:
        """Whether a flag stands on the command line."""
        option = self.options.get(name)
        return option is not None and option.value not in (None, False, "False", "false")


def number(value: Any) -> int | None:
    """A whole number out of a setting's value or a variable, None when it is none (`$SLURM_PROCID`)."""
    if isinstance(value, Observed):
        value = value.value if value.known else None
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(str(value))
    except ValueError:
        return None


def text(setting: Observed | None) -> str | None:
    """A non-empty text out of a setting, None of one that only the run will tell."""
    return None if setting is None or setting.value is None or to_come(setting) else str(setting.value)


def to_come(setting: Observed | None) -> bool:
    """Whether a setting is given whose value only the run will tell: no default stands in its place.

    `--nnodes=$WORLD_SIZE` where nobody has set the variable yet, `--master_addr=$(hostname -i)` in a script.
    """
    if setting is None or setting.value is None:
        return setting is not None and not setting.known
    return not setting.known or setting.value == "" or (isinstance(setting.value, str) and unknown(setting.value))


def stage_and_offload(asked: Asked) -> dict[str, Any]:
    """ZeRO stage and offload of a DeepSpeed run, by DeepSpeed's file or else by accelerate's options.

    Accelerate's default is stage 2 (accelerate/utils/dataclasses.py, DeepSpeedPlugin).
    """
    file = asked.deepspeed
    if file is not None:
        return {
            "zero_stage": file.zero_stage,
            "offload_optimizer": file.offload("optimizer"),
            "offload_param": file.offload("param"),
        }
    stage = asked.options.get("zero_stage") or asked.from_yaml("deepspeed_config.zero_stage")
    found: dict[str, Any] = {"zero_stage": 2 if stage is None else number(stage)}
    for what in ("optimizer", "param"):
        name = f"offload_{what}_device"
        device = (text(asked.options.get(name) or asked.from_yaml(f"deepspeed_config.{name}")) or "none").lower()
        found[f"offload_{what}"] = device if device in {"cpu", "nvme"} else "none"
    return found


def trainers_backend(asked: Asked, processes: int | None) -> dict[str, Any]:
    """Backend where the launcher decides none: what the training arguments say, else plain processes."""
    if asked.uses_cpu:
        return {"backend": "cpu"}
    if asked.deepspeed is not None:
        return {"backend": "deepspeed", **stage_and_offload(asked)}
    fsdp = asked.training.value("fsdp") if asked.training is not None else None
    if fsdp:
        return {"backend": "fsdp"}
    if processes is None:
        return {}
    return {"backend": "none" if processes == 1 else "multi_gpu"}


def gpus_left(asked: Asked, value: str | None, hidden_by: str | None) -> dict[str, Any]:
    """The fields of World about GPUs, for a value that stands in CUDA_VISIBLE_DEVICES in the end."""
    if asked.gpus is None:
        return {} if value is None else {"hidden_by": hidden_by, "listed_gpus": listed(value)}
    left, unknown = visible(asked.gpus, value)
    mixed = len({gpu.name for gpu in asked.gpus.gpus}) > 1
    by_number = value is not None and not value.startswith(("GPU-", "MIG-"))
    by_speed = asked.variables.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID"
    return {
        "visible_gpus": left,
        "hidden_by": hidden_by if value is not None else None,
        "unknown_devices": unknown,
        "order_uncertain": mixed and by_number and by_speed,
    }
