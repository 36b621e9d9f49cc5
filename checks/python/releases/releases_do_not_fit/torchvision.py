"""Judges PYT0301/torchvision, a row of releases-do-not-fit; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.requirements import applies, needs, parsed, satisfies
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
AUDIO = TOML["audio"]


@check(PROBLEM)
def torchvision_of_another_torch(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Judge what the metadata of the installed copies pin."""
    torch = packages.version("torch")
    if torch is None:
        return
    for need in needs(packages):
        if need.owner.name not in {"torchvision", "torchaudio"} or need.name != "torch":
            continue
        requirement = parsed(need.line)
        if requirement is None or not requirement.specifier or not applies(requirement, interpreter):
            continue
        if satisfies(torch, requirement.specifier) is not False:
            continue
        vision = need.owner.name == "torchvision"
        yield found(
            PROBLEM,
            MESSAGE if vision else AUDIO,
            severity=ERROR if vision else WARNING,
            commands=(f'pip install "torch=={torch}" {need.owner.name}', f"pip uninstall -y {need.owner.name}"),
            evidence=(Observed.quoted(f"metadata of {need.owner.name}", f"Requires-Dist: {need.line}"),),
            version=need.owner.version,
            requirement=f"torch{requirement.specifier}",
            torch=torch,
        )
