"""Judges learning-rate-is-text (TRF067), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.words import words_of
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.packages import Packages
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: arguments that optimizers compare with numbers, and which nothing converts
#: (https://github.com/pytorch/pytorch/blob/v2.9.0/torch/optim/adamw.py,
#: https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/training_args.py)
_NUMBERS = ("lr", "learning_rate", "weight_decay", "eps", "adam_epsilon", "warmup_ratio", "max_grad_norm")
#: the first release of LLaMA-Factory that reads its files by OmegaConf
_OMEGACONF = "0.9.4"
#: numbers that YAML 1.1 takes for text
_WITHOUT_POINT = re.compile(r"[+-]?(?:\d+[eE][+-]?\d+|\d*\.\d*[eE]\d+)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


@check(PROBLEM)
def learning_rate_is_text(script: Script) -> Judgement:
    """Judge arguments of optimizers and of training configurations that are made in the script."""
    for call in script.calls:
        if not call.origin.startswith("torch.optim") and not call.base.endswith(("Config", "TrainingArguments")):
            continue
        for name in _NUMBERS:
            setting = call.arguments.get(name)
            if setting is not None and _is_text(setting):
                yield found(
                    PROBLEM, TOML["main"], confidence=LIKELY, where=place_of(setting), evidence=quoted(setting),
                    name=name, text=setting.value, value=repr(setting.value),
                )  # fmt: skip
                return


@check(PROBLEM)
def learning_rate_is_text_to_llamafactory(framework_config: FrameworkConfig, packages: Packages) -> Judgement:
    """Judge files of releases that read them by PyYAML; later ones use OmegaConf, to which `1e-5` is a number.

    https://github.com/hiyouga/LLaMA-Factory/pull/8505
    """
    if framework_config.framework != "llamafactory" or not framework_config.files:
        return
    from packaging.version import Version

    version = packages.version("llamafactory")
    if version is None:
        yield Skip("the installed version of `llamafactory` is not known")
        return
    if Version(version) >= Version(_OMEGACONF):
        return
    for name in _NUMBERS:
        setting = framework_config.settings.get(name)
        if (
            setting is not None
            and setting.origin.source in framework_config.files
            and _WITHOUT_POINT.fullmatch(setting.text)
        ):
            yield found(
                PROBLEM, TOML["main"], confidence=LIKELY, where=place_of(setting), evidence=quoted(setting),
                name=name, text=setting.text, value=repr(setting.text),
            )  # fmt: skip
            return


def _is_text(setting: Observed) -> bool:
    return setting.known and isinstance(setting.value, str) and _NUMBER.fullmatch(setting.value) is not None
