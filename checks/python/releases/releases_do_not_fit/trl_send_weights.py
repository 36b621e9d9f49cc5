"""Judges PYT0301/trl_send_weights, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.shared.trainers import imports_grpo, installed
from doctor.catalogue.words import words_of
from doctor.checks.python.releases.releases_do_not_fit import unless_spared
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def send_weights_import(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Judge the pair, unless the command does without."""
    yield from unless_spared(
        TOML, imports_grpo(launch, training, script), ('pip install "trl>=1.13"', 'pip install "vllm<0.28"'),
        trl=installed(packages, "trl"), vllm=installed(packages, "vllm"),
    )  # fmt: skip
