"""Judges PYT0301/trl_guided_decoding, a row of releases-do-not-fit; its words stand in the TOML of the table."""

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
def guided_decoding_import(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Judge the pair, unless the command does without."""
    if not _swift_mends(packages, launch):
        yield from unless_spared(
            TOML, imports_grpo(launch, training, script), ('pip install "vllm<0.12"', 'pip install "trl>=0.27"'),
            trl=installed(packages, "trl"), vllm=installed(packages, "vllm"),
        )  # fmt: skip


def _swift_mends(packages: Packages, launch: Launch | None) -> bool:
    """Whether ms-swift, which puts the name back before it imports TRL, is what runs here.

    https://github.com/modelscope/ms-swift/blob/main/swift/rlhf_trainers/grpo_trainer.py
    """
    return "ms-swift" in packages.distributions and (launch is None or launch.program in {"swift", "megatron"})
