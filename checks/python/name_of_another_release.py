"""An import asks for a module or name that only other releases of the library have.

## What it means
Libraries of the training stack move, rename and remove names from release to release. The code that imports (a
script, or another library) was written for a release that had the name; the installed one is too new, or too old.
Which releases have a name is known from the libraries' own sources.
## What it does to a run
ImportError, ModuleNotFoundError or AttributeError, most often in the first seconds.
## What to do
Install the release that has the name, or the release of the asking library that does without, or import it from its
new place.
## How it is found
Before launch: the imports at the top of the script, outside any branch or `try`, against the installed releases.
In a log: by the module and the name in the exception, and the frame that asked.
## References
https://docs.python.org/3/library/exceptions.html#ImportError
https://github.com/huggingface/transformers/blob/v5.0.0/MIGRATION_GUIDE_V5.md
https://github.com/haotian-liu/LLaVA/issues/1808
"""

from __future__ import annotations

from pathlib import PurePath

from doctor.checks.python._api_history import CASES, finding, judge, of_own_code, versions_of
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.data.api import Known, module_history, name, packages
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages, normalised
from doctor.facts.script import Script

PROBLEM = Problem(id="PYT032", name="name-of-another-release", severity=ERROR, since="0.1")

#: problems that know more of the same line
_OTHERS = (
    "TRL", "VLL", "DSP", "TRF", "FLA", "TOR", "CUD", "DAT", "VRL", "ORL", "TRI", "RAY", "BNB", "ACC", "PFT", "HUB",
    "PYT005", "PYT010", "PYT018", "PYT019", "PYT020", "PYT030",
)  # fmt: skip

SIGNATURES = (
    Signature(
        r"^(?:ImportError: )?cannot import name '(?P<name>\w{1,80})' from "
        r"'(?P<module>[A-Za-z_]\w{0,60}(?:\.\w{1,80}){0,8})'"
        r"(?: \((?P<init>(?![^)\n]{0,300}(?:site|dist)-packages)[^)\n]{1,300}\.py)\))?",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"^ModuleNotFoundError: No module named '(?P<module>[A-Za-z_]\w{0,60}(?:\.\w{1,80}){1,8})'",
        symptom_of=_OTHERS,
    ),
    Signature(
        # Transformers' and TRL's lazy modules word it without quotes
        r"^(?:AttributeError: )?module '?(?P<module>[A-Za-z_]\w{0,60}(?:\.\w{1,80}){0,8})'? has no attribute "
        r"'?(?P<name>\w{1,80})",
        symptom_of=_OTHERS,
    ),
)

MESSAGES = CASES


@check(PROBLEM)
def name_of_another_release(script: Script, packages: Packages, launch: Launch | None) -> Judgement:
    """Judge what is imported for certain; a package that is not installed tells nothing."""
    changes_path = bool({"sys.path", "sys", "site"} & set(script.imports))
    for dotted, place in script.needs.items():
        known = _history(dotted)
        installed = packages.version(normalised(known.library)) if known is not None else None
        if known is None or not installed or _from_checkout(known.package, known.library, script, packages, launch):
            continue
        verdict = judge(known, installed, proven=False)
        if verdict is None:
            continue
        case, more = of_own_code(verdict, known, installed)
        yield found(
            PROBLEM,
            dict(MESSAGES)[case],
            where=Where(file=place.file, line=place.line, column=place.column),
            confidence=CONFIRMED if verdict.sure and not changes_path else LIKELY,
            commands=(f'pip install "{known.library}{verdict.range}"',),
            name=dotted,
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
    known = name(module, wanted) if wanted else module_history(module)
    if known is None:
        return None
    shown = f"{module}.{wanted}" if wanted else module
    return finding(PROBLEM, hits, known, shown, asked=(module, wanted))
