"""Judges cuda-library-shadowed (CUD004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.words import words_of
from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.facts.cuda import Cuda, Library
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
SEVERAL = TOML["several"]


@check(PROBLEM)
def library_shadowed(cuda: Cuda, packages: Packages) -> Judgement:
    """One finding a folder; libnvJitLink, which torch's import itself trips over, is CUD005."""
    folders: dict[str, list[Library]] = {}
    for each in cuda.shadowing:
        if each.stem != "libnvJitLink" and is_older(each.version, wheel_version(packages, each.stem)):
            folders.setdefault(each.folder, []).append(each)
    for folder, libraries in folders.items():
        first = libraries[0]
        shown = ", ".join(f"{each.stem} {each.version}" for each in libraries[:2])
        yield found(
            PROBLEM,
            MESSAGE if len(libraries) == 1 else SEVERAL,
            confidence=LIKELY,
            commands=("unset LD_LIBRARY_PATH",),
            evidence=tuple(
                Observed.quoted(each.path, f"{each.version}; the wheel's is {wheel_version(packages, each.stem)}")
                for each in libraries
            ),
            stem=first.stem,
            version=first.version,
            own=wheel_version(packages, first.stem),
            folder=folder,
            count=len(libraries),
            names=shown if len(libraries) <= 2 else f"{shown} ...",
        )
