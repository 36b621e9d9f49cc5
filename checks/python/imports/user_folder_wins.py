"""Judges python-user-folder-wins (PYT006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.requirements import stack
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
BY_PYTHONPATH = TOML["by_pythonpath"]
BY_USER_SITE = TOML["by_user_site"]


def brought_by_user(location: str, interpreter: Interpreter) -> str | None:
    """Return "PYTHONPATH" or "user site" when one of them put a folder on the path, else None."""
    if location in interpreter.pythonpath:
        return "PYTHONPATH"
    return "user site" if interpreter.user_site and location == interpreter.user_site else None


@check(PROBLEM)
def user_folder_wins(packages: Packages, interpreter: Interpreter) -> Judgement:
    """Only where the two versions differ."""
    for name in sorted(stack() & packages.distributions.keys()):
        each = packages.distributions[name]
        by = brought_by_user(each.location, interpreter)
        other = next((copy for copy in each.shadowed if copy.version and copy.version != each.version), None)
        if by is None or other is None or each.version is None:
            continue
        user_site = by == "user site"
        yield found(
            PROBLEM,
            BY_USER_SITE if user_site else BY_PYTHONPATH,
            commands=("export PYTHONNOUSERSITE=1",) if user_site else ("unset PYTHONPATH",),
            evidence=(
                Observed.quoted(each.location, f"{name} {each.version}"),
                Observed.quoted(other.location, f"{name} {other.version}"),
            ),
            name=name,
            version=each.version,
            other=other.version,
            folder=each.location,
        )
