"""Judges repository-not-found (HUB012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
ENGINE = TOML["engine"]
MODELSCOPE = TOML["modelscope"]
FUNCTION = TOML["function"]


_MODELSCOPE = 5  # position of its words
_DOTTED = later(r"[a-z_]\w*(?:\.[a-z_]\w*)+")


def explain(hits: Hits) -> Finding | None:
    """Silent where the address is told without an exception: a program caught it and takes something else."""
    raised = any(hit.frames or hit.signature in (1, 2, 4, _MODELSCOPE) for hit in hits) or hits.of(3)
    told = next((hit for hit in hits if hit.groups.get("repo")), None)
    if told is None or not raised:
        return None
    repo = told.groups["repo"]
    if _DOTTED.fullmatch(repo):
        return found(
            PROBLEM, FUNCTION, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, repo=repo,
            module=repo.rsplit(".", 1)[0],
        )  # fmt: skip
    return found(
        PROBLEM,
        MODELSCOPE if told.signature == _MODELSCOPE else ENGINE if told.signature in (2, 4) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        repo=repo,
    )
