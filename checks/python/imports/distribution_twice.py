"""Judges distribution-twice (PYT005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.shared.requirements import stack
from doctor.catalogue.words import words_of
from doctor.checks.python.imports.user_folder_wins import brought_by_user
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
SIDE_BY_SIDE = TOML["side_by_side"]


@check(PROBLEM)
def distribution_twice(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Copies of one version are harmless; those that PYTHONPATH or the user's folder put first are PYT006."""
    for name in sorted(stack() & packages.distributions.keys()):
        each = packages.distributions[name]
        remove = (f"pip uninstall -y {name}", f"pip install --force-reinstall --no-deps {name}")
        if each.broken and "side by side" in each.broken:
            yield found(
                PROBLEM, SIDE_BY_SIDE, commands=remove, evidence=(Observed.quoted(each.location, each.broken),),
                name=name, reason=each.broken, folder=each.location,
            )  # fmt: skip
            continue
        other = next((copy for copy in each.shadowed if copy.version and copy.version != each.version), None)
        if other is None or each.version is None:
            continue
        if interpreter is not None and brought_by_user(each.location, interpreter):
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY if each.editable else CONFIRMED,
            commands=remove,
            evidence=(
                Observed.quoted(each.location, f"{name} {each.version}"),
                Observed.quoted(other.location, f"{name} {other.version}"),
            ),
            name=name,
            version=each.version,
            other=other.version,
            folder=each.location,
            behind=other.location,
        )
