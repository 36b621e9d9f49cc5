"""Judges template-rewrites-history (RLX028) in a rehearsal; the words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
REHEARSED = TOML["rehearsed"]


def of_rehearsal(conversation: Mapping[str, Any]) -> Finding | None:
    """Judge a conversation that was rendered turn by turn; only runs with several turns are concerned.

    Args:
        conversation: `several` (turns of the run's rollouts), `broken` (numbers of answers), `text` (where it differs).

    """
    if not conversation["several"] or not conversation["broken"]:
        return None
    return found(
        PROBLEM, REHEARSED, severity=WARNING, turn=conversation["broken"][0],
        evidence=(Observed.quoted("chat template", f"tokens differ at: {conversation['text']!r}"),),
    )  # fmt: skip
