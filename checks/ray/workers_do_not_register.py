"""Judges ray-workers-do-not-register (RAY007), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MISMATCH = TOML["mismatch"]


def explain(hits: Hits) -> Finding | None:
    """The two versions, where Ray named them and they differ by more than a patch of Python."""
    if all(hit.groups.get("package") for hit in hits):
        return None
    told = [(hit.groups["package"], hit.groups["release"]) for hit in hits if hit.groups.get("package")][:4]
    differ = len(told) == 2 * len(_PAIR) and tuple(each for each, _ in told) == 2 * _PAIR and (
        told[0] != told[2] or told[1][1].split(".")[:2] != told[3][1].split(".")[:2]
    )  # fmt: skip
    return found(
        PROBLEM, MISMATCH if differ else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        theirs=_named(told[:2]), ours=_named(told[2:]),
    )  # fmt: skip


_PAIR = ("Ray", "Python")  # the order in which Ray names them, of the cluster and then of the process


def _named(told: list[tuple[str, str]]) -> str:
    return ", ".join(f"{package} {release}" for package, release in told)
