"""What the checks of DeepSpeed share."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Skip
from doctor.catalogue.settings import truth
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import LLAMAFACTORY, SWIFT, Training
from doctor.facts.world import World


def setting_of(config: DeepspeedConfig | None, key: str) -> Observed | None:
    """A key of the JSON that is written and readable."""
    setting = config.settings.get(key) if config is not None and config.broken is None else None
    return setting if setting is not None and setting.known else None


def of_yaml(accelerate: AccelerateConfig | None, key: str) -> Observed | None:
    """A key of `deepspeed_config` in the accelerate file."""
    return accelerate.settings.get(f"deepspeed_config.{key}") if accelerate is not None else None


def gpu_is_used(world: World | None, gpus: Gpus | None, packages: Packages | None) -> bool | None:
    """Whether a CUDA build of torch will see a GPU; None where it cannot be told."""
    if packages is not None and packages.torch_build is not None and packages.torch_build.cuda is None:
        return False
    if world is not None and world.visible_gpus is not None:
        return bool(world.visible_gpus)
    return bool(gpus.gpus) if gpus is not None else None


def operation_built(config: DeepspeedConfig | None, world: World) -> str | None:
    """The DeepSpeed operation that this run needs compiled, None when it needs none.

    With offload the optimizer becomes DeepSpeedCPUAdam (accelerate maps torch's AdamW to it), unless `torch_adam` or
    `zero_force_ds_cpu_optimizer: false` says otherwise; without offload an `optimizer` of the JSON is FusedAdam
    (https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/engine.py).
    """
    name = setting_of(config, "optimizer.type")
    is_adam = name is not None and str(name.value).lower() in {"adam", "adamw"}
    torch_adam = setting_of(config, "optimizer.params.torch_adam")
    if is_adam and torch_adam is not None and truth(torch_adam.value):
        return None
    if world.offload_optimizer in {"cpu", "nvme"}:
        forced = setting_of(config, "zero_force_ds_cpu_optimizer")
        if name is None and forced is not None and truth(forced.value) is False:
            return None
        return "cpu_adam" if name is None or is_adam else None
    return "fused_adam" if is_adam else None


def compares_arguments(training: Training, packages: Packages | None) -> bool:
    """Whether the trainer compares its arguments with the DeepSpeed configuration, as Transformers' Trainer does.

    PPO, and RLOO before TRL 0.22, make an Accelerator of their own and never ask
    (https://github.com/huggingface/trl/blob/v0.21.0/trl/trainer/rloo_trainer.py#L126).
    """
    if training.config_origin in {SWIFT, LLAMAFACTORY}:  # their trainers are Transformers', but for PPO's
        return "ppo" not in (training.value("rlhf_type"), training.value("stage"))
    if training.trainer == "RLOOTrainer":
        return packages is not None and bool(packages.matches("trl", ">=0.22"))
    return training.trainer not in {None, "PPOTrainer"}


def unread(training: Training | None) -> Iterator[Skip]:
    """A skip where the training names a DeepSpeed configuration that nobody could read; silence where it names none."""
    setting = training.get("deepspeed") if training is not None else None
    if setting is not None and (not setting.known or setting.value):
        yield Skip("the DeepSpeed configuration that the training names could not be read")
