"""Judges PYT0301/trl_guided_decoding, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.trainers import imports_grpo, installed
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def guided_decoding_import(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Judge the pair, unless the command does without; the engine has compared the versions."""
    imported = imports_grpo(launch, training, script)
    if imported is False or _swift_mends(packages, launch):
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Observed.quoted("installed packages", f"trl {version}, vllm {vllm}"),),
        commands=('pip install "vllm<0.12"', 'pip install "trl>=0.27"'),
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        version=version,
        vllm=vllm,
    )


def _swift_mends(packages: Packages, launch: Launch | None) -> bool:
    """Whether ms-swift, which puts the name back before it imports TRL, is what runs here.

    https://github.com/modelscope/ms-swift/blob/main/swift/rlhf_trainers/grpo_trainer.py
    """
    return "ms-swift" in packages.distributions and (launch is None or launch.program in {"swift", "megatron"})
