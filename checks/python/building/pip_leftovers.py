"""Judges pip-leftovers (PYT008), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Where, found
from doctor.catalogue.shared.requirements import stack
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


def _of_stack(leftover: str) -> bool:
    """Whether a name like `~orch` or `~orch-2.6.0.dist-info` stems from a package of the stack."""
    name = leftover.rpartition("/")[2].lstrip("~-").split("-")[0].removesuffix(".libs").replace("_", "-").lower()
    known = {*stack(), "nvidia"}
    return len(name) > 1 and any(each[1:] == name or each[2:] == name for each in known)


@check(PROBLEM)
def pip_leftovers(packages: Packages) -> Judgement:
    """One finding for all of them; those of other packages are pip's own affair."""
    mine = [each for each in packages.leftovers if _of_stack(each)]
    if not mine:
        return
    names = ", ".join(f"`{each.rpartition('/')[2]}`" for each in mine[:3])
    yield found(
        PROBLEM,
        MESSAGE,
        where=Where(file=mine[0]),
        commands=tuple(f"rm -r '{each}'" for each in mine[:5]),
        evidence=tuple(Observed.quoted(each, "left by pip") for each in mine[:5]),
        count=len(mine),
        names=names if len(mine) <= 3 else f"{names} ...",
    )
