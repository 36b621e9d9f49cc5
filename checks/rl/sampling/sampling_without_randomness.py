"""Judges sampling-without-randomness (RLX003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import number, place_of
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, NEARLY = TOML["main"], TOML["nearly"]

#: a temperature at which logits are five times as far apart; published runs sample with 0.6 to 1.2
#: (https://arxiv.org/abs/2503.14476: 1.0, https://arxiv.org/abs/2501.12948: 0.6 in its evaluations)
LOW = 0.2


@check(PROBLEM)
def sampling_without_randomness(training: Training) -> Judgement:
    """Judge explicit values; no default is greedy."""
    if not is_grpo(training):
        return
    for name, greedy, better in (("temperature", 0, "1.0"), ("top_k", 1, "50")):
        setting = training.get(name)
        value = number(setting.value) if setting is not None and setting.known else None
        if setting is None or value is None:
            continue
        nearly = name == "temperature" and 0 < value <= LOW
        if value == greedy or nearly:
            yield found(
                PROBLEM, NEARLY if nearly else MESSAGE, where=place_of(setting), evidence=quoted(setting),
                severity=WARNING if nearly else PROBLEM.severity, commands=(f"{name}={better}",), name=name,
                value=f"{value:g}",
            )  # fmt: skip
