"""Judges PYT0301/triton, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.requirements import applies, needs, parsed, satisfies
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def triton_of_another_torch(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Only where Triton is there: its absence is PYT015."""
    triton = packages.version("triton")
    if triton is None:
        return
    for need in needs(packages):
        if (need.owner.name, need.name) != ("torch", "triton"):
            continue
        requirement = parsed(need.line)
        if requirement is None or not applies(requirement, interpreter):
            continue
        if satisfies(triton, requirement.specifier) is False:
            wanted = f"triton{requirement.specifier}"
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=LIKELY,
                commands=(f'pip install "{wanted}"',),
                evidence=(Observed.quoted(f"metadata of torch {need.owner.version}", f"Requires-Dist: {need.line}"),),
                version=need.owner.version,
                requirement=wanted,
                triton=triton,
            )
