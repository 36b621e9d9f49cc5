"""Judges glibc-too-old (PYT018), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_CXX = TOML["log_cxx"]


def explain(hits: Hits) -> Finding | None:
    """Name the file that needs it and the package that it belongs to."""
    library = hits.get("library") or "?"
    folder, base = ["", *library.split("/")][-2:]
    name = (f"{folder}/" if folder and folder != "site-packages" else "") + base.partition(".")[0]
    after = library.rpartition("site-packages/")[2] if "site-packages/" in library else ""
    package = after.partition("/")[0].partition(".")[0]
    return found(
        PROBLEM,
        LOG_MESSAGE_CXX if (hits.first.groups.get("need") or "").startswith(("GLIBCXX", "CXX")) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("ldd --version",),
        severity=ERROR if hits.of(0) or hits.of(1) else WARNING,
        name=f"`{name}`",
        need=hits.get("need"),
        package=package or "",
    )
