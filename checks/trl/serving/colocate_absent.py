"""Judges vllm-colocate-absent (TRL011), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import installed, is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def colocate_absent(training: Training, packages: Packages) -> Judgement:
    """Judge the first of the arguments that is set."""
    if not is_grpo(training):
        return
    for name in ("vllm_mode", "vllm_tensor_parallel_size"):
        setting = training.get(name)
        if setting is not None:
            yield found(
                PROBLEM,
                MESSAGE,
                where=place_of(setting),
                evidence=quoted(setting),
                commands=('pip install "trl>=0.18"',),
                name=name,
                version=installed(packages, "trl"),
            )
            return
