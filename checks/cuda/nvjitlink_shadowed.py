"""Judges nvjitlink-shadowed (CUD005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.shared.torch_builds import numbers
from doctor.catalogue.words import words_of
from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.facts.cuda import Cuda
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def nvjitlink_shadowed(cuda: Cuda, packages: Packages) -> Judgement:
    """Its symbols carry the minor version, so an older minor version lacks some."""
    build = packages.torch_build
    loads_its_own = packages.matches("torch", ">=2.6") and build is not None and build.cuda in {"12.4", "12.6"}
    own = wheel_version(packages, "libnvJitLink")
    if loads_its_own or own is None:
        return
    for each in cuda.shadowing:
        if each.stem != "libnvJitLink" or not is_older(_minor(each.version), _minor(own)):
            continue
        wheel = packages.wheel_libraries.get("libnvJitLink", "")
        first = f"export LD_LIBRARY_PATH={wheel.rpartition('/')[0]}:$LD_LIBRARY_PATH"
        yield found(
            PROBLEM,
            MESSAGE,
            confidence=LIKELY,
            commands=("unset LD_LIBRARY_PATH", *((first,) if wheel else ())),
            evidence=(Observed.quoted(each.path, each.version or ""), Observed.quoted("nvidia-nvjitlink", own)),
            version=each.version,
            own=own,
            folder=each.folder,
        )


def _minor(version: str | None) -> str:
    return ".".join(map(str, numbers(version)[:2]))
