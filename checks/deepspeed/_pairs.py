"""The values of DeepSpeed's configuration that the Trainer compares with its own arguments."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.base.record import record, replace
from doctor.catalogue.settings import truth, whole
from doctor.catalogue.shared.proofs import effective
from doctor.checks.deepspeed._helpers import of_yaml, setting_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

#: DeepSpeed key -> training argument, as HfTrainerDeepSpeedConfig.trainer_config_process pairs them
PAIRS = {
    "train_micro_batch_size_per_gpu": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_clipping": "max_grad_norm",
    "optimizer.params.lr": "learning_rate",
    "optimizer.params.eps": "adam_epsilon",
    "optimizer.params.weight_decay": "weight_decay",
    "scheduler.params.warmup_max_lr": "learning_rate",
}
#: compared when the number of steps is known (`trainer_config_finalize`), where the arguments state it as a number
STEPS = {"scheduler.params.total_num_steps": "max_steps", "scheduler.params.warmup_num_steps": "warmup_steps"}
SWITCHES = {"fp16.enabled": ("fp16", "fp16_full_eval"), "bf16.enabled": ("bf16", "bf16_full_eval")}


@record
class Pair:
    """A DeepSpeed key and the training argument that it is compared with; `theirs` is None where it cannot be told."""

    key: str
    ours: Observed
    theirs: Observed | None


def _plain(value: object) -> object:
    """A number that was written as text, as the argument parser turns it into one."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def from_json(config: DeepspeedConfig, training: Training, packages: Packages | None) -> Iterator[Pair]:
    """Pairs of the keys that the JSON states."""
    for key, argument in PAIRS.items():
        ours = setting_of(config, key)
        if ours is not None and ours.value not in {None, "auto"}:
            yield Pair(key, ours, effective(training, packages, argument))
    for key, argument in STEPS.items():
        ours, theirs = setting_of(config, key), training.get(argument)
        steps = whole(theirs.value) if theirs is not None and theirs.known else None
        if ours is not None and ours.value not in {None, "auto"} and steps is not None and steps > 0:
            yield Pair(key, ours, theirs)
    if _two_precisions(config, training, packages):
        return  # DSP006 says it
    for key, (argument, evaluation) in SWITCHES.items():
        ours = setting_of(config, key)
        if ours is None or ours.value in {None, "auto"} or training.get(evaluation) is not None:
            continue
        yield Pair(key, ours, effective(training, packages, argument))


def whole_batch(config: DeepspeedConfig, training: Training, packages: Packages | None, world: World) -> Pair | None:
    """The batch of a step over all processes, which the Trainer works out and compares; None where neither applies.

    Where the JSON also states its parts, these are compared instead, with each other too (DSP005).
    https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/integrations/deepspeed.py
    """
    ours = setting_of(config, "train_batch_size")
    parts = [setting_of(config, key) for key in ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")]
    stated = any(each is not None and each.value not in {None, "auto"} for each in parts)
    if ours is None or ours.value in {None, "auto"} or stated or world.processes is None:
        return None
    micro = effective(training, packages, "per_device_train_batch_size")
    steps = effective(training, packages, "gradient_accumulation_steps")
    numbers = [whole(each.value) if each is not None else None for each in (micro, steps)]
    if micro is None or numbers[0] is None or numbers[1] is None:
        return Pair("train_batch_size", ours, None)
    total = numbers[0] * numbers[1] * world.processes
    name = f"{micro.name} * gradient_accumulation_steps * {world.processes} processes"
    return Pair("train_batch_size", ours, replace(micro, name=name, value=total))


def _two_precisions(config: DeepspeedConfig, training: Training, packages: Packages | None) -> bool:
    """Whether one of fp16 and bf16 is on in the JSON and the other there too, or in the training."""
    for key, other in (("fp16", "bf16"), ("bf16", "fp16")):
        ours, theirs = setting_of(config, f"{key}.enabled"), setting_of(config, f"{other}.enabled")
        if ours is None or not truth(ours.value):
            continue
        wanted = effective(training, packages, other)
        if (theirs is not None and truth(theirs.value)) or (wanted is not None and truth(wanted.value)):
            return True
    return False


def from_yaml(accelerate: AccelerateConfig, training: Training, packages: Packages | None) -> Iterator[Pair]:
    """The fields of the accelerate file, which pass through the environment and so become numbers."""
    for key, convert in (("gradient_accumulation_steps", whole), ("gradient_clipping", _plain)):
        ours = of_yaml(accelerate, key)
        if ours is not None and ours.value not in {None, "auto"}:
            ours = Observed.written(ours.name, convert(ours.value), text=ours.text, place=ours.place)
            yield Pair(key, ours, effective(training, packages, PAIRS[key]))


def differ(pair: Pair) -> bool:
    """Whether the Trainer's `!=` finds the two values different."""
    if pair.theirs is None:
        return False
    theirs = truth(pair.theirs.value) if pair.key in SWITCHES else _plain(pair.theirs.value)
    return bool(pair.ours.value != theirs)
