"""Judges PYT5808/name, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from pathlib import PurePath

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._api_history import CASES, finding, judge, of_own_code, versions_of
from doctor.data.api import Invented, Known, invented, module_history, name, own_name, packages
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages, normalised
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem
NEVER, NEVER_HERE = TOML["never"], TOML["never_here"]

MESSAGES = CASES


@check(PROBLEM)
def name_of_another_release(script: Script, packages: Packages, launch: Launch | None) -> Judgement:
    """Judge what is imported for certain; a package that is not installed tells nothing."""
    changes_path = bool({"sys.path", "sys", "site"} & set(script.imports))
    told: set[str] = set()
    for dotted, place in script.needs.items():
        invention = _invented(dotted)
        if invention is not None and invention.module not in told:
            installed = packages.version(normalised(invention.library))
            if installed and not _from_checkout(invention.package, invention.library, script, packages, launch):
                told.add(invention.module)
                yield _never(invention, Where(file=place.file, line=place.line, column=place.column))
            continue
        known = _history(dotted)
        installed = packages.version(normalised(known.library)) if known is not None else None
        if known is None or not installed or _from_checkout(known.package, known.library, script, packages, launch):
            continue
        if known.owner in told:  # one module that is gone, of which several names are imported
            continue
        verdict = judge(known, installed, proven=False)
        if verdict is None:
            continue
        told.add(known.owner)
        case, more = of_own_code(verdict, known, installed)
        yield found(
            PROBLEM,
            dict(MESSAGES)[case],
            where=Where(file=place.file, line=place.line, column=place.column),
            confidence=CONFIRMED if verdict.sure and not changes_path else LIKELY,
            commands=(f'pip install "{known.library}{verdict.range}"',),
            name=known.dotted,
            library=known.library,
            version=f" {installed}",
            **versions_of(verdict),
            **more,
        )


def _from_checkout(package: str, library: str, script: Script, packages: Packages, launch: Launch | None) -> bool:
    """Whether sources of the package may be imported that are not those of the installed release."""
    owner = packages.distributions[normalised(library)]
    taken = packages.modules.get(package) or ""
    module = launch.module if launch is not None else None
    return (
        owner.editable
        or bool(owner.shadowed)
        or (bool(taken) and "site-packages" not in taken and "dist-packages" not in taken)
        or package in PurePath(script.path).parts
        or (module or "").partition(".")[0] == package
    )


def _invented(dotted: str) -> Invented | None:
    """The module of an import, or what is imported from it as a module; of a name in a module nothing is told."""
    head = dotted.rpartition(".")[0]
    return invented(head) if head.partition(".")[0] in packages() and "." in head else None


def _never(invention: Invented, where: Where, evidence: tuple[Observed, ...] = ()) -> Finding:
    one = invention.places[0] if len(invention.places) == 1 else None
    return found(
        PROBLEM,
        NEVER if one is None else NEVER_HERE,
        where=where,
        evidence=evidence,
        confidence=LIKELY,
        library=invention.library,
        name=invention.module,
        place=one or "",
    )


def _history(dotted: str) -> Known | None:
    module, _, wanted = dotted.rpartition(".")
    if not module or module.partition(".")[0] not in packages():
        return None
    return name(module, wanted)


def explain(hits: Hits) -> Finding | None:
    """Tell what the history of the name says; a folder of the user's own that shadows the package is not judged."""
    module, wanted = hits.get("module") or "", hits.first.groups.get("name", "")
    if hits.get("init") or module.partition(".")[0] not in packages():
        return None
    known = own_name(module, wanted) if wanted else module_history(module)
    if known is None and not wanted and (invention := invented(module)) is not None:
        return _never(invention, hits.where(), hits.evidence())
    return finding(PROBLEM, hits, known, known.dotted, asked=(module, wanted)) if known is not None else None
