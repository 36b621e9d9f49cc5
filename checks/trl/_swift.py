"""The generation batch of GRPO in ms-swift, by its own rule and defaults.

https://github.com/modelscope/ms-swift/blob/v3.5.3/swift/trainers/rlhf_arguments.py (`check_num_generations`)
https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/rlhf_trainers/args_mixin.py (`_init_generation_batch_params`)
"""

from __future__ import annotations

from doctor.catalogue.settings import whole
from doctor.catalogue.shared.generation_batch import Batch
from doctor.facts.packages import Packages
from doctor.facts.training import SWIFT, Training
from doctor.facts.world import World

#: the first release that multiplies by the steps of a generation, as all have done since
FIRST = ">=3.5.3"
#: from here on a step is not accumulated unless told; before, up to 16 samples were
_ONE_STEP = ">=3.7.0"
#: these read the file of `--config`; later ones want it in front of the arguments
WITH_CONFIG = ">=3.10.0,<4.1.0"
#: defaults of all these releases
_PER_DEVICE, _GENERATIONS = 1, 8


def is_swift_grpo(training: Training) -> bool:
    """Tell whether ms-swift trains with GRPO."""
    return training.config_origin == SWIFT and training.value("rlhf_type") == "grpo"


def swift_batch(training: Training, world: World, packages: Packages) -> Batch | str:
    """Return the generation batch, or why it cannot be told."""
    if packages.matches("ms-swift", FIRST) is not True:
        return "the version of ms-swift that will run is not known, or has another rule"
    if training.get("config") is not None and packages.matches("ms-swift", WITH_CONFIG) is not True:
        return "this ms-swift does not read `--config`"
    if world.processes is None:
        return "the number of processes is not known"
    numbers = {
        "per_device_train_batch_size": _number(training, "per_device_train_batch_size", _PER_DEVICE),
        "num_generations": _number(training, "num_generations", _GENERATIONS),
        "steps_per_generation": _steps(training, packages),
    }
    given = training.get("generation_batch_size")
    missing = [name for name, value in numbers.items() if value is None]
    if missing or (given is not None and whole(given.value) is None):
        return f"`{missing[0] if missing else 'generation_batch_size'}` could not be read without running the script"
    return Batch(
        rule="D",
        processes=world.processes,
        per_device=numbers["per_device_train_batch_size"] or 0,
        steps=numbers["steps_per_generation"] or 0,
        generations=numbers["num_generations"] or 0,
        steps_name="steps_per_generation" if training.get("steps_per_generation") else "gradient_accumulation_steps",
        given=whole(given.value) if given is not None else None,
    )


def _number(training: Training, name: str, default: int) -> int | None:
    setting = training.get(name)
    return default if setting is None else whole(setting.value)


def _steps(training: Training, packages: Packages) -> int | None:
    if training.get("steps_per_generation") is not None:
        return _number(training, "steps_per_generation", 0)
    if training.get("gradient_accumulation_steps") is not None:
        return _number(training, "gradient_accumulation_steps", 0)
    return 1 if packages.matches("ms-swift", _ONE_STEP) is True else None
