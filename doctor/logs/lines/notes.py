"""Tells notes on many problems from the log of one run: failures under several headings, each with its own remedy.

A thread about one failure has headings too, those of the project's template, and often shows the failure twice. So
headings alone prove nothing: what stands under them must differ, and the headings, the text around or the file's title
must speak of problems and remedies.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from doctor.base.patterns import later

_SUFFIXES = (".md", ".mdx", ".markdown", ".rst")
_MOST_LINES = 30_000
_FENCE = later(r"\s{0,12}(?:```|~~~)")
_HEADING = later(r"#{1,5} {1,3}(?P<title>\S[^\n]{0,300})")
_UNDERLINE = later(r"(?:={4,200}|-{4,200}|~{4,200}|\^{4,200})\s*")
#: titles of such a text
_TITLE = later(
    r"trouble-?shoot|\bFAQs?\b|frequently asked|\bQ ?& ?A\b|issue[ _-]patterns|error (?:messages|collection|guide)"
    r"|\b(?:common|known|frequent) (?:errors?|issues?|problems?|pitfalls?)"
    r"|常见(?:问题|错误|报错)|(?:错误|问题|报错|踩坑)(?:收集|汇总|记录|集合|排查)",
    re.IGNORECASE,
)
#: headings that name a failure; those of templates name the place for one ("Error", "Describe the bug", "Logs")
_NAMED = later(
    r"报错|错误|卡住|失败|问题|不一致|❌|\w(?:Error|Exception)\b|out of memory"
    r"|\bnot (?:found|installed|detected|available|supported)\b"
    r"|\b(?:fails?|failed|failures?|hangs?|OOM|mismatch|cannot|can't|timeouts?|crash\w*|issues?|problems?|errors)\b",
    re.IGNORECASE,
)
#: those of templates that hold such a word all the same
_OF_TEMPLATE = later(
    r"\W{0,4}(?:问题描述|问题现象|(?:报错|错误)(?:信息|日志|内容)"
    r"|(?:problem|issue)s?(?: description| summary| statement)?|errors?(?: logs?| messages?| output)?)\W{0,4}",
    re.IGNORECASE,
)
#: words with which a remedy begins, on a line of their own or before a colon
_REMEDY = later(
    r"[\s>*_#\-\d.]{0,16}(?P<word>(?:solution|fix|cause|root cause|resolution|workaround|symptom|diagnosis)(?:e?s)?\b"
    r"|解决|(?:错误)?原因|处理)[^\n:：]{0,40}(?:[:：]|\*\*|$)",
    re.IGNORECASE,
)
_LONGEST_REMEDY = 200  # characters of such a line


def is_notes(path: str, lines: Sequence[tuple[int, str]], failures: Iterable[tuple[int, str]]) -> bool:
    """Whether a text is a collection of problems.

    Args:
        path: of the file, for its name.
        lines: (number, text) of all of it, in order.
        failures: (line, what it is) of everything that failed or that a signature knows.

    """
    told = sorted(failures)
    if len({what for _, what in told}) < 2 or len(lines) > _MOST_LINES:
        return False
    written = PurePath(path).suffix in _SUFFIXES
    headings = _headings(lines, underlined=path.endswith(".rst"))
    if len(headings) < 2 or not (written or any(_FENCE.match(text) for _, text in lines)):
        return False
    starts = [number for number, _ in headings]
    by_section = _by_section(told, starts)
    if len(by_section) < 2 or len(set(map(frozenset, by_section.values()))) < 2:
        return False  # the same failure under all of them
    named = sum(_names_one(headings[each][1]) for each in by_section)
    titled = any(_TITLE.search(title) for title in (PurePath(path).stem, *(title for _, title in headings[:2])))
    return titled or named >= 2 or _remedies(lines, starts) >= 2


def _names_one(title: str) -> bool:
    return _NAMED.search(title) is not None and _OF_TEMPLATE.fullmatch(title) is None


def _by_section(told: Iterable[tuple[int, str]], starts: Sequence[int]) -> dict[int, set[str]]:
    """What stands under each heading."""
    by_section: dict[int, set[str]] = {}
    for line, what in told:
        section = bisect_right(starts, line) - 1
        if section >= 0:
            by_section.setdefault(section, set()).add(what)
    return by_section


def _headings(lines: Sequence[tuple[int, str]], *, underlined: bool) -> list[tuple[int, str]]:
    """(line, title) of what stands outside of code."""
    found: list[tuple[int, str]] = []
    inside = False
    before = ""
    for number, text in lines:
        if _FENCE.match(text):
            inside = not inside
        elif not inside and (match := _HEADING.match(text)):
            found.append((number, match["title"]))
        elif underlined and len(text) >= len(before) > 0 and not before[0].isspace() and _UNDERLINE.fullmatch(text):
            found.append((number - 1, before))
        before = text.rstrip()
    return found


def _remedies(lines: Sequence[tuple[int, str]], starts: Sequence[int]) -> int:
    """Under how many headings a remedy or a cause is told in the same word; a report of a bug tells each once."""
    inside = False
    sections: dict[str, set[int]] = {}
    for number, text in lines:
        if _FENCE.match(text):
            inside = not inside
        elif not inside and len(text) < _LONGEST_REMEDY and (match := _REMEDY.match(text)):
            sections.setdefault(match["word"].lower(), set()).add(bisect_right(starts, number))
    return max(map(len, sections.values()), default=0)
