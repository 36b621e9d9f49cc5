"""Judges LCH0284/tracker, a row of value-unknown; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.spelling import nearest
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.shared.trackers import NEEDS, chosen, place, quoted
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: names that came later than 4.40 (INTEGRATION_TO_CALLBACK of the releases)
SINCE = {"swanlab": "4.50.0", "trackio": "4.54.0"}
OTHERS = frozenset({"kubeflow"})  # known to some release of 5; which one is not told here


@check(PROBLEM)
def tracker_unknown(training: Training, packages: Packages) -> Judgement:
    """A release that is newer than the data may know more names."""
    from doctor import data

    version = packages.version("transformers") or ""
    names = [each for each in chosen(training) if each not in OTHERS and not _known(each, packages)]
    if not names:
        return
    if data.standing("transformers", version) == data.VersionStanding.NEWER:
        yield Skip(f"Transformers {version} is newer than what is known here")
        return
    setting = training.get("report_to")
    known = [each for each in NEEDS if _known(each, packages)]
    for name in names:
        yield found(
            PROBLEM,
            MESSAGE,
            name=name,
            version=version,
            known=", ".join(f"`{each}`" for each in known),
            where=place(setting),
            commands=_nearest(name, known),
            evidence=quoted(setting),
        )


def _known(name: str, packages: Packages) -> bool:
    if name not in NEEDS:
        return False
    since = SINCE.get(name)
    return since is None or packages.matches("transformers", f">={since}") is not False


def _nearest(name: str, known: list[str]) -> tuple[str, ...]:
    meant = nearest(name.lower(), known)
    return (f"--report_to {meant}",) if meant else ()
