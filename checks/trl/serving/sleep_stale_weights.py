"""Judges sleep-mode-stale-weights (TRL017), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of, truth
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted, vllm_mode
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def sleep_stale_weights(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit switch; it is off by default."""
    version = installed(packages, "trl")
    setting = training.get("vllm_enable_sleep_mode")
    if not is_grpo(training) or setting is None:
        return
    mode = vllm_mode(training, version)
    if not setting.known or mode is None:
        yield Skip("`vllm_enable_sleep_mode` or the mode of vLLM could not be read without running the script")
        return
    if truth(setting.value) and mode == "colocate":
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=('pip install "trl>=1.10"', "vllm_enable_sleep_mode=False"),
            version=version,
        )
