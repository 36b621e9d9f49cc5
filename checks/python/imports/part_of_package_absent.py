"""Judges part-of-package-absent (PYT052), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._api_history import asker_of
from doctor.checks.python.releases.requirement_missing import DISTRIBUTIONS, GONE_FROM_PYTHON
from doctor.data.api import packages
from doctor.data.stack import LOOKED_FOR

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
FILE = TOML["file"]


def explain(hits: Hits) -> Finding | None:
    """What a library asks for is told by others, and so is a part of a package that the data know."""
    package, part, file = hits.first.groups["package"], hits.first.groups["part"][1:], hits.first.groups.get("file")
    if package in GONE_FROM_PYTHON or asker_of(hits.first.frames):
        return None
    if file:
        return found(
            PROBLEM, FILE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, file=file,
            name=file.replace(".", "/"), part=f"{package}.{part}",
        )  # fmt: skip
    if package in LOOKED_FOR or package in DISTRIBUTIONS or package in packages():
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
        part=part, last=part.rpartition(".")[2], dist=package.replace("_", "-"),
    )  # fmt: skip
