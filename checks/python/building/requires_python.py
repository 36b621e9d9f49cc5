"""Judges requires-python-violated (PYT003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.requirements import python_allowed, stack
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
SEVERAL = TOML["several"]


@check(PROBLEM)
def requires_python(interpreter: Interpreter, packages: Packages) -> Judgement:
    """One finding for all, for they have one cause."""
    violated = [
        each
        for each in packages.distributions.values()
        if each.broken is None and python_allowed(each.requires_python, interpreter.version) is False
    ]
    if not violated:
        return
    violated.sort(key=lambda each: (each.name not in stack(), each.name))
    first = violated[0]
    shown = ", ".join(f"`{each.name}`" for each in violated[:3])
    yield found(
        PROBLEM,
        MESSAGE if len(violated) == 1 else SEVERAL,
        severity=ERROR if first.name in stack() else WARNING,
        commands=("uv venv --python 3.12",),
        evidence=tuple(
            Observed.quoted(
                each.location or "metadata", f"{each.name} {each.version}: Requires-Python {each.requires_python}"
            )
            for each in violated[:10]
        ),
        python=interpreter.version,
        name=first.name,
        version=first.version,
        needs=first.requires_python,
        count=len(violated),
        names=shown if len(violated) <= 3 else f"{shown} ...",
    )
