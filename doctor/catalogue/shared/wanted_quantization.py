"""Shared by the checks of bitsandbytes: what in the run asks for it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.settings import truth
from doctor.facts.script import Script
from doctor.facts.training import Training

_SWITCHES = ("load_in_4bit", "load_in_8bit")
#: values of `optim` that are optimizers of bitsandbytes
#: (https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/training_args.py)
_OPTIMIZERS = ("adamw_bnb_8bit", "adamw_8bit", "ademamix", "lion_", "paged_", "rmsprop_bnb")


def quantization(training: Training, script: Script | None) -> Observed | None:
    """Return the setting that loads the model in 4 or 8 bit through bitsandbytes, None when none does."""
    settings = [training.model_arguments.get(name) for name in _SWITCHES]
    settings += [training.model_arguments.get(f"quantization_config.{name}") for name in _SWITCHES]
    settings += [training.nested.get(f"model_init_kwargs.quantization_config.{name}") for name in _SWITCHES]
    for call in script.calls_of("BitsAndBytesConfig") if script is not None else ():
        if not call.conditional:
            settings += [call.arguments.get(name) for name in _SWITCHES]
    return next((each for each in settings if each is not None and each.known and truth(each.value)), None)


def optimizer(training: Training) -> Observed | None:
    """Return `optim` when it names an optimizer of bitsandbytes."""
    setting = training.get("optim")
    if setting is None or not setting.known or not str(setting.value).startswith(_OPTIMIZERS):
        return None
    return setting
