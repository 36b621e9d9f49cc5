"""Judges PYT0301/trl_serve_open_port, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.trainers import COMMAND_LINE, installed
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def serve_open_port_import(launch: Launch, packages: Packages) -> Judgement:
    """Judge the command; the engine has compared the versions."""
    if launch.kind != "trl-vllm-serve":
        return
    version, vllm = installed(packages, "trl"), installed(packages, "vllm")
    yield found(
        PROBLEM,
        MESSAGE,
        evidence=(Observed.quoted(COMMAND_LINE, " ".join(launch.argv)),),
        commands=('pip install "trl>=0.28"', 'pip install "vllm<0.12"'),
        version=version,
        vllm=vllm,
    )
