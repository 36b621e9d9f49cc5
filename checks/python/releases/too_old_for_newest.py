"""Judges python-holds-trl-back (PYT002), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.requirements import python_allowed
from doctor.catalogue.words import words_of
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def too_old_for_newest(interpreter: Interpreter, packages: Packages) -> Judgement:
    """Only where the installed TRL is the last that this interpreter may have: an older one was chosen by hand."""
    reachable = [
        version
        for version, release in data.releases("trl").items()
        if not release.yanked and python_allowed(release.requires_python, interpreter.version)
    ]
    newest = data.newest("trl")
    release = data.release("trl", newest) if newest else None
    if not reachable or release is None or reachable[-1] == newest:
        return
    if not packages.matches("trl", f"=={reachable[-1]}"):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("uv venv --python 3.12",),
        evidence=(Observed.quoted(f"metadata of trl {newest}", f"Requires-Python: {release.requires_python}"),),
        python=interpreter.version,
        installed=packages.version("trl"),
        newest=newest,
        needs=release.requires_python,
    )
