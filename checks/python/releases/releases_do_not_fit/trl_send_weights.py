"""Judges PYT0301/trl_send_weights, a row of releases-do-not-fit; its words stand in the TOML of the table."""

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
def send_weights_import(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Judge the pair, unless the command does without; the engine has compared the versions."""
    imported = imports_grpo(launch, training, script)
    if imported is False:
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Observed.quoted("installed packages", f"trl {version}, vllm {vllm}"),),
        commands=('pip install "trl>=1.13"', 'pip install "vllm<0.28"'),
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        version=version,
        vllm=vllm,
    )
