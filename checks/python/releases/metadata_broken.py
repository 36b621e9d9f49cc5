"""Judges package-metadata-broken (PYT007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.requirements import stack
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
REQUIRED = TOML["required"]
MESSAGE = TOML["main"]


def explain(hits: Hits) -> Finding:
    """The words of a requirement tell more than the bare name that importlib gives."""
    wanted = hits.get("wanted")
    name = hits.get("asked") or hits.get("name") or "?"
    return found(
        PROBLEM,
        REQUIRED if wanted else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"python -m pip show {name}",),
        name=name,
        wanted=wanted or "",
    )


@check(PROBLEM)
def metadata_broken(packages: Packages) -> Judgement:
    """Judge the stack's packages; contradicting copies in one folder are PYT005."""
    for name in sorted(stack() & packages.distributions.keys()):
        each = packages.distributions[name]
        if each.broken is None or "side by side" in each.broken:
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            severity=ERROR if each.version is None else WARNING,
            where=Where(file=each.location) if each.location else None,
            commands=(f"pip install --force-reinstall --no-deps {name}",),
            evidence=(Observed.quoted(each.location or "metadata", each.broken),),
            name=name,
            reason=each.broken,
        )
