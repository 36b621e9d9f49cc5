"""Judges PYT5808/annotation, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of
from doctor.data.libraries import package_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: signature -> the first Python that evaluates such an annotation
_SINCE = ((3, 12), (3, 9), (3, 10))


_PYTHON = later(r"/python(?P<major>\d)\.(?P<minor>\d{1,2})/")
#: code that runs while a module is imported: its own or a class's body
_IMPORTED = later(r":(?:<module>|[A-Z]\w{0,80})$")


def explain(hits: Hits) -> Finding | None:
    """Only where an installed package is imported by a Python that is too old for what the message says."""
    return next((each for each in map(_told, hits) if each is not None), None)


def _told(hit: Hit) -> Finding | None:
    frame = hit.frames[-1] if hit.frames else ""
    package = package_of(frame.rpartition(":")[0])
    running = next((told for each in reversed(hit.frames) if (told := _PYTHON.search(each))), None)
    if not package or running is None or not _IMPORTED.search(frame):
        return None
    python, since = (int(running["major"]), int(running["minor"])), _SINCE[hit.signature]
    if python >= since:
        return None
    hits = Hits((hit,), 1)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        package=package,
        python=f"{python[0]}.{python[1]}",
        since=f"{since[0]}.{since[1]}",
    )
