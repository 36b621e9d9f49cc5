"""Judges build-failed (PYT041), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
ASKED = TOML["asked"]


_LONGEST = 36  # characters of an error that the words repeat
_OF_NO_USE = ("CalledProcessError", "Error compiling objects", "subprocess-exited-with-error")


def explain(hits: Hits) -> Finding | None:
    """With the first error of the build that tells something."""
    asked = [hit for hit in hits if not any(hit.groups.get(each) for each in ("error", "killed", "compile"))]
    if not asked:
        return None
    errors = [each for each in (*hits.values("error"), *hits.values("compile")) if not _useless(each)]
    package = (hits.get("package") or "").replace("@", "==")
    return found(
        PROBLEM, ASKED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        package=package, name=package.partition("==")[0] or "PACKAGE",
        error=f": `{_short(errors[0])}`" if errors else "",
        killed=hits.get("killed") is not None,
    )  # fmt: skip


def _short(error: str) -> str:
    """The beginning of an error, enough to find its line by."""
    text = error.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}..."


def _useless(error: str) -> bool:
    return any(each in error for each in _OF_NO_USE)
