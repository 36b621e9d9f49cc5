"""Judges sleep-mode-second-generation (TRL018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted, vllm_mode, whole_argument
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def sleep_second_generation(training: Training, packages: Packages) -> Judgement:
    """Judge only runs that generate twice in a step."""
    version = installed(packages, "trl")
    setting = training.get("vllm_enable_sleep_mode")
    if not is_grpo(training) or setting is None or not truth(setting.value):
        return
    if vllm_mode(training, version) != "colocate":
        return
    strategy = training.get("eval_strategy")
    evaluates = strategy is not None and strategy.known and strategy.value not in (None, "no")
    steps = whole_argument(training, "steps_per_generation", version)
    accumulation = whole_argument(training, "gradient_accumulation_steps", version)
    several = steps is not None and accumulation is not None and steps < accumulation
    if not evaluates and not several:
        return
    second = strategy if evaluates else training.get("steps_per_generation")
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting, second),
        commands=('pip install "trl>=1.10"', "vllm_enable_sleep_mode=False"),
        confidence=LIKELY,
        version=version,
    )
