"""Judges package-shadowed (PYT010), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.requirements import distributions_of
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Distribution, Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_FILE = TOML["log_file"]
LOG_MODULE = TOML["log_module"]
FILE = TOML["file"]
FOLDER = TOML["folder"]


@check(PROBLEM)
def package_shadowed(packages: Packages) -> Judgement:
    """Editable installs are imported from their source on purpose."""
    for module, file in sorted(packages.modules.items()):
        owners = [packages.distributions[name] for name in distributions_of(module) if name in packages.distributions]
        if not file or not owners or any(_brings(each, file) for each in owners):
            continue
        is_file = file.endswith((".py", ".pyc", ".so"))
        yield found(
            PROBLEM,
            FILE if is_file else FOLDER,
            severity=ERROR if is_file else WARNING,
            confidence=CONFIRMED if is_file else LIKELY,
            where=Where(file=file),
            commands=(f"pip install -e '{file.rpartition('/')[0]}'",) if not is_file else (),
            evidence=(Observed.quoted(owners[0].location, f"{owners[0].name} {owners[0].version} is installed here"),),
            module=module,
            file=file,
            version=f"{owners[0].name} {owners[0].version}",
        )


def _brings(owner: Distribution, file: str) -> bool:
    """Whether a distribution's own folder, or its source when it is a development install, holds the module.

    Distributions without a location (a pasted list) and Debian's split folders prove nothing.
    """
    if not owner.location or owner.editable or owner.editable_from is not None:
        return True
    folder = owner.location.removesuffix(".egg-info").rstrip("/")
    return file.startswith(f"{folder}/") or "/site-packages/" in file or "/dist-packages/" in file


def explain(hits: Hits) -> Finding:
    """The file where Python names it, else the module."""
    file = hits.get("file")
    if file:
        return found(
            PROBLEM, LOG_FILE, where=hits.where(), evidence=hits.evidence(), file=file,
            confidence=LIKELY if hits.first.signature else CONFIRMED,
        )  # fmt: skip
    module = next(
        iter(hits.first.groups[name] for name in ("module", "ray", "datasets", "torch") if name in hits.first.groups)
    )
    return found(
        PROBLEM, LOG_MODULE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, module=module
    )  # fmt: skip
