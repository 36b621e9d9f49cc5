"""Judges PYT0301/ray_click, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def command_dies_on_click(packages: Packages, interpreter: Interpreter, launch: Launch | None) -> Judgement:
    """An error for a command that is the broken one."""
    if interpreter.version_info != (3, 10):
        return
    ray, click = packages.version("ray"), packages.version("click")
    yield found(
        PROBLEM,
        MESSAGE,
        ray=ray,
        click=click,
        severity=ERROR if launch is not None and launch.kind == "ray" else WARNING,
        commands=('pip install "click<8.3"',),
        evidence=(Observed.quoted("installed packages", f"ray {ray}, click {click}, Python {interpreter.version}"),),
    )
