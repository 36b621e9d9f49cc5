"""Reasons why something was not judged, and names of what is compared between nodes, in the reader's language.

Each is written once, in English, where it arises. `doctor/data/reasons_zh.json`, `readings_zh.json`, `clauses_zh.json`
(what was examined, in so few words that they are looked for among themselves only), `notices_zh.json` (what a command
says of itself, and why it refuses) and `help_zh.json` (what `--help` of a command says) hold these texts with `{}`
for a value, and their Chinese with `{0}`, `{1}` in the order that Chinese wants. What was captured may be such a text
in its turn. A text that the table lacks stays as it is.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from doctor.base.patterns import later
from doctor.base.record import replace

if TYPE_CHECKING:
    from doctor.catalogue.finding import Finding

#: values of findings that are sentences or names of ours, not the user's words
_SENTENCES = frozenset({"message", "reason", "what"})
_WORD = later(r"[^\W\d_]")
_DATA = Path(__file__).parent.parent / "data"
Kind = Literal["reasons", "readings", "clauses", "notices", "help"]


@cache
def table(kind: Kind = "reasons") -> dict[str, str]:
    """English template -> Chinese."""
    data: dict[str, str] = json.loads((_DATA / f"{kind}_zh.json").read_text(encoding="utf-8"))
    return data


@cache
def _patterns(kind: Kind) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Templates with places for values, those with most fixed text first: they say most precisely what is meant."""
    known = table(kind)
    templates = sorted((each for each in known if "{}" in each), key=lambda each: -len(each.replace("{}", "")))
    return tuple(
        (re.compile("(.*?)".join(map(re.escape, each.split("{}"))), re.DOTALL), known[each]) for each in templates
    )


def translated(text: str, language: str, kind: Kind = "reasons") -> str:
    """The reason, or the name of a reading, in `language`; English where there is no other."""
    if language != "zh" or not text:
        return text
    whole = table(kind).get(text)
    if whole is not None:
        return whole
    for pattern, chinese in _patterns(kind):
        match = pattern.fullmatch(text)
        if match is None:
            continue
        # of a notice that is but two parts with a colon between them the whole may be a reason
        if kind == "notices" and not _WORD.search(chinese) and (known := translated(text, language)) != text:
            return known
        return chinese.format(*(translated(value, language, kind) for value in match.groups()))
    return translated(text, language) if kind == "notices" else text


def localised_finding(finding: Finding, language: str) -> Finding:
    """A finding whose captured sentences are in `language`; what it quotes as evidence stays as it is."""
    values = {
        name: translated(value, language) if name in _SENTENCES and isinstance(value, str) else value
        for name, value in finding.values.items()
    }
    return replace(finding, values=values)


def localised(report: dict[str, Any], language: str) -> dict[str, Any]:
    """A report whose reasons and names of readings are in `language`."""
    skipped = [{**each, "reason": translated(each["reason"], language)} for each in report["skipped"]]
    nodes = {"nodes": _localised_nodes(report["nodes"], language)} if report.get("nodes") else {}
    return {**report, "target": _localised_target(report["target"], language), "skipped": skipped, **nodes}


def _localised_target(target: dict[str, Any], language: str) -> dict[str, Any]:
    """What was judged: lines, steps and GPUs; of several nodes their number, and what was measured between them."""
    clauses = [(each, translated(each, language, "clauses")) for each in target.get("summary", ())]
    return {**target, "summary": [new if new != old else translated(old, language) for old, new in clauses]}


def _localised_nodes(nodes: dict[str, Any], language: str) -> dict[str, Any]:
    """The section of many nodes: readings by their names, and why nodes gave no facts."""
    named = {part: [{**each, "name": _name(each, language)} for each in nodes[part]] for part in ("rows", "alike")}
    states = [{**each, "reason": translated(each["reason"], language)} for each in nodes["states"]]
    return {**nodes, **named, "states": states}


def _name(row: dict[str, Any], language: str) -> str:
    name: str = row["name"]
    return name if row["area"] == "environment" else translated(name, language, "readings")
