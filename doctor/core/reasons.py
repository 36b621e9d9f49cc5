"""Reasons why something was not judged, in the reader's language.

A reason is written once, in English, where it arises. `doctor/data/reasons_zh.json` holds each of these sentences with
`{}` where a value stands, and its Chinese with `{0}`, `{1}` in the order that Chinese wants. What was captured may be a
reason in its turn. A sentence that the table lacks stays as it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.core.finding import Finding

#: values of findings that are sentences or names of ours, not the user's words
_SENTENCES = frozenset({"message", "reason", "what"})
_TABLE = Path(__file__).parent.parent / "data" / "reasons_zh.json"


@cache
def table() -> dict[str, str]:
    """English template -> Chinese."""
    data: dict[str, str] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return data


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Templates with places for values, those with most fixed text first: they say most precisely what is meant."""
    templates = sorted((each for each in table() if "{}" in each), key=lambda each: -len(each.replace("{}", "")))
    return tuple(
        (re.compile("(.*?)".join(map(re.escape, each.split("{}"))), re.DOTALL), table()[each]) for each in templates
    )


def translated(reason: str, language: str) -> str:
    """The reason in `language`; English where there is no other."""
    if language != "zh" or not reason:
        return reason
    whole = table().get(reason)
    if whole is not None:
        return whole
    for pattern, chinese in _patterns():
        match = pattern.fullmatch(reason)
        if match:
            return chinese.format(*(translated(value, language) for value in match.groups()))
    return reason


def localised_finding(finding: Finding, language: str) -> Finding:
    """A finding whose captured sentences are in `language`; what it quotes as evidence stays as it is."""
    values = {
        name: translated(value, language) if name in _SENTENCES and isinstance(value, str) else value
        for name, value in finding.values.items()
    }
    return replace(finding, values=values)


def localised(report: dict[str, Any], language: str) -> dict[str, Any]:
    """A report whose reasons are in `language`."""
    skipped = [{**each, "reason": translated(each["reason"], language)} for each in report["skipped"]]
    return {**report, "skipped": skipped}
