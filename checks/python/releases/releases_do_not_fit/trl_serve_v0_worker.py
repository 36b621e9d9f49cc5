"""Judges PYT0301/trl_serve_v0_worker, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.shared.trainers import COMMAND_LINE, installed
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def serve_v0_worker(launch: Launch, environment: Environment, packages: Packages) -> Judgement:
    """Judge the command, unless the old engine is there and asked for."""
    if launch.kind != "trl-vllm-serve":
        return
    if environment.get("VLLM_USE_V1") == "0" and packages.matches("vllm", "<0.11"):
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Observed.quoted(COMMAND_LINE, " ".join(launch.argv)),),
        commands=('pip install "trl>=0.17"',),
        confidence=CONFIRMED if packages.matches("vllm", ">=0.11") else LIKELY,
        version=version,
        vllm=vllm,
    )
