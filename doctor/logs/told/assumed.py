"""Releases that nobody told, taken for those of today: what pasted code would meet if it were run now.

A thread shows its script and leaves out what is installed. What no release ever had is wrong in that of today as well;
what today's release has dropped may be right in theirs, and is not asked for.
"""

from __future__ import annotations

from typing import Optional

from doctor import data
from doctor.base.evidence import AFTER_DEATH, Observations, Observed, Origin
from doctor.base.opened import NotSeen, opened
from doctor.facts.packages import Distribution, Packages

#: distributions whose arguments the data know release by release
_KNOWN = ("trl", "transformers", "peft")
#: what holds of every release
OF_ANY_RELEASE = ("TRL2205/unknown", "TRL2205/transformers_unknown")


def of_today(world: Observations) -> Optional[Observations]:
    """The world with today's releases in place of those that nobody told; None where all are told."""
    packages = world.value("packages")
    told = {name: version for name in _KNOWN if (version := _version(packages, name)) is not None}
    if "trl" in told:
        return None
    stated = {name: told.get(name) or data.newest(name) for name in _KNOWN}
    installed = {name: Distribution(name, version) for name, version in stated.items() if version is not None}
    other = Observations(believed=AFTER_DEATH)
    other.add(*(each for name in world if name != "packages" for each in world.all_of(name)))
    other.add(Observed("packages", opened(Packages(installed), seen=()), Origin("pasted")))
    return other


def _version(packages: Optional[Packages], name: str) -> Optional[str]:
    try:
        return packages.version(name) if packages is not None else None
    except NotSeen:
        return None
