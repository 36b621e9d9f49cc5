"""Judges PYT5808/name_absent, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.data.libraries import package_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OWN = TOML["own"]
CIRCULAR = TOML["circular"]
BESIDE = TOML["beside"]
CHECKOUT = TOML["checkout"]
FOLDER = TOML["folder"]
GENERATED = TOML["generated"]

#: Unsloth's folder of rewritten trainers, whose files are made from the releases that were installed then
#: https://github.com/unslothai/unsloth-zoo/blob/main/unsloth_zoo/compiler.py
_WRITTEN_BEFORE = later(r"(?:^|[/\\])(?P<folder>unsloth_compiled_cache\w{0,20})[/\\]")


def explain(hits: Hits) -> Finding | None:
    """The frame that asked tells whose code is of another time."""
    if not hits.of(0) and not hits.of(1) and not hits.of(2):
        return _lazy(hits)
    package = hits.get("package") or ""
    installed = hits.versions.get(package.replace("_", "-")) or hits.versions.get(package)
    importer = _importer(hits.first.frames)
    circular = bool(hits.get("partial"))
    if hits.get("init") and not circular:
        return found(
            PROBLEM, CHECKOUT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
            module=f"{package}{hits.get('module') or ''}",
        )  # fmt: skip
    if hits.get("nowhere") and not circular:
        return found(
            PROBLEM, FOLDER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
            module=f"{package}{hits.get('module') or ''}", package=package, dist=package.replace("_", "-"),
        )  # fmt: skip
    if importer == package and not circular:
        return None  # PYT043: the package asks itself
    written = _WRITTEN_BEFORE.search(hits.first.frames[-1]) if hits.first.frames else None
    if written is not None and not circular:
        return found(
            PROBLEM, GENERATED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
            name=hits.get("name"), folder=written["folder"], version=f" {installed}" if installed else "",
        )  # fmt: skip
    message = CIRCULAR if circular else LOG_MESSAGE if importer else OWN
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
        name=hits.get("name") or f"{package}{hits.get('module') or ''}", importer=importer,
        importer_dist=importer.replace("_", "-"), version=f" {installed}" if installed else "",
    )  # fmt: skip


def _lazy(hits: Hits) -> Finding | None:
    """The words of a lazy import quote the reason in their second line and tell nothing of who asked."""
    above = {hit.line + 1: hit.groups["lazy"] for hit in hits.of(3)}
    for hit in hits.of(4):
        if hit.line in above:
            package = hit.groups["package"]
            installed = hits.versions.get(package.replace("_", "-")) or hits.versions.get(package)
            return found(
                PROBLEM, BESIDE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=package,
                name=hit.groups["name"], lazy=above[hit.line], version=f" {installed}" if installed else "",
            )  # fmt: skip
    return None


def _importer(frames: Sequence[str]) -> str:
    """Package of the innermost frame, empty for the user's own code."""
    return package_of(frames[-1].rpartition(":")[0]) if frames else ""
