"""Judges template-rewrites-history (RLX028) in a rehearsal; the words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import INFO, WARNING
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
REHEARSED = TOML["rehearsed"]
OPEN = TOML["open"]
CHANGED = TOML["changed"]


def of_rehearsal(conversation: Mapping[str, Any]) -> Finding | None:
    """Judge a conversation that was rendered turn by turn; only runs with several turns are concerned.

    Args:
        conversation: `several` (turns of the run's rollouts), `broken` (numbers of answers), `text` (where it differs),
            `ends` (an answer ends with a token that ends a generation; None where nobody knows one), `same` (the ids
            survive being decoded and encoded).

    """
    if not conversation["several"]:
        return None
    if conversation["broken"]:
        return found(
            PROBLEM, REHEARSED, severity=WARNING, turn=conversation["broken"][0],
            evidence=(Observed.quoted("chat template", f"tokens differ at: {conversation['text']!r}"),),
        )  # fmt: skip
    if conversation.get("ends") is False:
        evidence = (Observed.quoted("chat template", f"no {conversation.get('end')!r} behind the last answer"),)
        return found(PROBLEM, OPEN, severity=WARNING, confidence=LIKELY, evidence=evidence)
    if conversation.get("same") is False:
        evidence = (Observed.quoted("tokenizer", "encode(decode(ids)) gives other ids"),)
        return found(PROBLEM, CHANGED, severity=INFO, confidence=LIKELY, evidence=evidence)
    return None


def of_last_answers(entry: Mapping[str, Any]) -> Finding:
    """Judge a template that leaves out the beginning of answers that end their conversations."""
    evidence = (Observed.quoted("chat template", f"not in the text: {entry['lost']!r}"),)
    return found(
        PROBLEM, TOML["last"], severity=WARNING, confidence=LIKELY, answers=entry["answers"], evidence=evidence
    )
