"""What is answered to an agent: bounded, without secrets, and with the words of logs marked as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from doctor.agents.roots import Roots
from doctor.base.redact import redact, redact_text
from doctor.diagnosis.brief import cut
from doctor.render import brief as brief_text
from doctor.render.plain import plain

SCHEMA = "doctor-answer/1"

#: an answer's text, and its data as JSON, in characters
LONGEST_TEXT, LONGEST_DATA = 24_000, 60_000
#: of data that has no schema with bounds of its own
_ITEMS, _STRING = 60, 1_500
_WITHHELD = "[withheld: this file is outside the folders that the server may read]"


def of_report(tool: str, code: int, brief: Mapping[str, Any], roots: Roots) -> tuple[str, dict[str, Any]]:
    """Text and data of a brief report; quotations of files outside are withheld."""
    findings = [
        {
            **each,
            "evidence": [
                one if roots.shows(one["source"]) else {**one, "text": _WITHHELD} for one in each["evidence"]
            ],
        }
        for each in brief["findings"]
    ]  # fmt: skip
    told = {**brief, "findings": findings}
    return bounded_text(brief_text.render(told)), answer(tool, code, told)


def answer(tool: str, code: int, data: Any) -> dict[str, Any]:
    """The envelope that every tool answers with; data that is too long is cut, and said to be.

    Args:
        tool: its name.
        code: exit code of the doctor's command: 0 nothing wrong found, 1 found (or: differs, does not fit).
        data: JSON-like.

    """
    data = redact(data)
    complete = True
    for items, longest in ((None, None), (_ITEMS, _STRING), (10, 200), (3, 80)):
        shown = data if items is None or longest is None else _shortened(data, items, longest)
        if len(json.dumps(shown)) <= LONGEST_DATA:
            return {"schema": SCHEMA, "tool": tool, "exit": code, "complete": complete, "data": shown}
        complete = False
    return {"schema": SCHEMA, "tool": tool, "exit": code, "complete": False, "data": None}


def bounded_text(text: str) -> str:
    """Text without secrets and control codes, its middle left out where it is too long."""
    text = plain(redact_text(text))
    if len(text) <= LONGEST_TEXT:
        return text
    left = len(text) - LONGEST_TEXT
    half = LONGEST_TEXT // 2
    return f"{text[:half]}\n[... {left:,} characters are left out here ...]\n{text[-half:]}"


def _shortened(value: Any, items: int, longest: int) -> Any:
    if isinstance(value, str):
        return cut(value, longest)
    if isinstance(value, Mapping):
        kept = {key: _shortened(each, items, longest) for key, each in list(value.items())[:items]}
        return kept if len(value) <= items else {**kept, "...": f"{len(value) - items} more"}
    if isinstance(value, (list, tuple)):
        kept_items = [_shortened(each, items, longest) for each in value[:items]]
        return kept_items if len(value) <= items else [*kept_items, f"... {len(value) - items} more"]
    return value
