"""A brief report as plain text: the verdict, then each finding with its place, evidence and remedy.

What the examined programs printed stands between `<log-text>` marks, so that a reader who follows instructions (a
coding agent) can tell it from the doctor's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from doctor.render.plain import plain
from doctor.render.words import WORDS, place_of, verdict_of

_END = "</log-text>"
#: characters in a row that the doctor's words share with what was printed before they count as its words
_SHARED = 16


def render(brief: Mapping[str, Any]) -> str:
    """Text of a report of schema `doctor-brief/1`, in English."""
    lines = [*_head(brief)]
    for finding in brief["findings"]:
        lines += ["", *_finding(finding)]
    summary = brief["summary"]
    if summary["left_out"]:
        lines += ["", f"{summary['left_out']} more findings are left out."]
    if brief["not_judged"]:
        lines += ["", f"Not judged: {summary['not_judged']} checks. The reasons, the most frequent first:"]
        lines += [f"- {each['reason']} ({each['count']})" for each in brief["not_judged"]]
    return plain("\n".join(lines)) + "\n"


def _head(brief: Mapping[str, Any]) -> Iterator[str]:
    summary = brief["summary"]
    if verdict := verdict_of(brief, WORDS["en"]):
        yield verdict
    elif not brief["findings"]:
        yield "Nothing found, but not everything could be judged." if summary["not_judged"] else "Nothing found."
    yield f"Errors: {summary['errors']}, warnings: {summary['warnings']}, notes: {summary['infos']}."
    if summary["crashed"]:
        yield f"{summary['crashed']} checks of the doctor crashed and were left out."


def _finding(finding: Mapping[str, Any]) -> Iterator[str]:
    place = place_of(finding["where"])
    likely = ", likely, not proven" if finding["confidence"] == "likely" else ""
    role = f", {finding['role']}" if finding["role"] != "cause" else ""
    yield f"{finding['id']} {finding['name']} ({finding['severity']}{role}{likely}){f' at {place}' if place else ''}"
    printed = [each["text"] for each in finding["evidence"]]
    yield _marked(finding["headline"], printed)
    if finding["explanation"]:
        yield f"Why: {_marked(finding['explanation'], printed)}"
    if finding["remedy"]["text"]:
        yield f"What to do: {_marked(finding['remedy']['text'], printed)}"
    yield from (f"    {each}" for each in finding["remedy"]["commands"])
    if finding["remedy"]["fix"]:
        yield f"    doctor fix {finding['remedy']['fix']}"
    yield from (quoted(each["text"], each["source"], each["line"]) for each in finding["evidence"])


def _marked(words: str, printed: Sequence[str]) -> str:
    """The doctor's words, with marks around what they repeat of the evidence: a sentence of a library, a message."""
    spans: list[tuple[int, int]] = []
    for text in printed:
        blocks = SequenceMatcher(None, words, text, autojunk=False).get_matching_blocks()
        spans += [(each.a, each.a + each.size) for each in blocks if each.size >= _SHARED]
    out, at = "", 0
    for begin, end in sorted(spans):
        if end > at:
            start = max(begin, at)
            out += f"{words[at:start]}<log-text>{_closed(words[start:end])}{_END}"
            at = end
    return out + words[at:]


def _closed(text: str) -> str:
    """A quotation that cannot end its own mark."""
    return text.replace(_END, "<\\/log-text>")


def quoted(text: str, source: str, line: int | None = None) -> str:
    """A quotation between marks that it cannot close itself."""
    place = f"{source}:{line}" if line is not None else source
    return f'<log-text from="{place.replace(chr(34), chr(39))}">{_closed(text)}{_END}'
