"""The manual of a problem in Chinese, made of what its findings say, and of the manual."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from string import Formatter
from typing import Any

from doctor.catalogue.finding import OPTION, Message, Words
from doctor.catalogue.index import Entry, load
from doctor.catalogue.manual import Manual, manual
from doctor.catalogue.problem_files import code_of, declared
from doctor.catalogue.words import ProblemWords

SEVERITIES = {"error": "错误", "warning": "警告", "info": "提示"}
_EXPLAINED, _REMEDIES = "影响", "处理方法"
#: sections of a manual
_HEADINGS = {
    "What it means": "含义(英文手册)", "What it does to a run": "对运行的影响(英文手册)",
    "What to do": "怎么办(英文手册)", "How it is found": "如何发现(英文手册)", "References": "参考",
}  # fmt: skip
_SENTENCE = re.compile(r"[^。!?;]*[。!?;]?")
_SHARED = "doctor.catalogue.shared."  # judgement, and so words, of problems in several areas


def manual_zh(entry: Entry) -> Manual | None:
    """What it does and what to do in Chinese, then the manual; None where the problem has no Chinese text.

    The Chinese is that of its findings, without the sentences that say what was seen: those are filled when the problem
    is found. The manual's own sections are English, below Chinese headings.
    """
    words = list(dict.fromkeys(_words(entry)))
    if not words:
        return None
    if entry.rows:  # sentences of many rows in one paragraph say nothing: the rows are listed, each by its own name
        sections = {_HEADINGS.get(heading, heading): text for heading, text in manual(entry).sections.items()}
        return Manual(f"{entry.id} {entry.name}", sections)
    sections = {
        heading: text
        for heading, parts in (
            (_EXPLAINED, [each.explanation for each in words]), (_REMEDIES, [each.remedy for each in words]),
        )
        if (text := _sentences(parts))
    }  # fmt: skip
    for heading, text in manual(entry).sections.items():
        sections[_HEADINGS.get(heading, heading)] = text
    return Manual(_title(words) or f"{entry.id} {entry.name}", sections)


def title_zh(entry: Entry) -> str | None:
    """A row in a list: the headline of its only message; None where there are several, or it names what was seen."""
    words = list(_words(entry))
    return _title(words) if len(words) == 1 else None


def _title(words: list[Words]) -> str | None:
    return next((each.headline for each in words if _is_whole(each.headline)), None)


def _sentences(texts: list[str]) -> str:
    """The sentences that say the same wherever the problem is found, each once; a text a paragraph."""
    seen: set[str] = set()
    paragraphs = []
    for text in texts:
        kept = [each for each in _SENTENCE.findall(_unfolded(text)) if _is_whole(each) and each not in seen]
        seen.update(kept)
        if any(each.strip() for each in kept):
            paragraphs.append("".join(_plain(each) for each in kept).strip())
    return "\n\n".join(paragraphs)


def _unfolded(text: str) -> str:
    """Without what is said only where something was seen."""
    return OPTION.sub("", text)


def _is_whole(text: str) -> bool:
    """Whether nothing in it is filled when the problem is found."""
    return not OPTION.search(text) and all(name is None for _, name, _, _ in Formatter().parse(text))


def found_by(entry: Entry) -> str:
    """When the problem is recognised; a table by the ways of its rows."""
    one_of = [entry, *(each for each in load() if each.id in entry.rows)] if entry.rows else [entry]
    ways = (
        (any(each.checks for each in one_of), "启动前检查"), (any(each.has_rule for each in one_of), "运行中监测"),
        (any(each.has_signatures for each in one_of), "日志分析"),
    )  # fmt: skip
    return "、".join(name for has, name in ways if has)


def _words(entry: Entry) -> Iterator[Words]:
    """Chinese texts of a problem's files, or of the helpers that make its findings where it has none itself."""
    if entry.rows:
        for row in (each for each in load() if each.id in entry.rows):
            yield from _words(row)
        return
    module = code_of(entry)
    values = vars(module).values() if module is not None and entry.has_code else (declared(entry),)
    own = [each.zh for value in values for each in _messages(value) if each.zh is not None]
    if own:
        yield from own
        return
    if module is None:
        return
    area = f"{module.__name__.partition('.checks.')[0]}.checks"
    helpers = {getattr(value, "__module__", "") for value in vars(module).values() if callable(value)}
    for name in sorted(each for each in helpers if each.startswith((f"{area}.", _SHARED)) and each != module.__name__):
        for value in vars(sys.modules[name]).values():
            yield from (each.zh for each in _messages(value) if each.zh is not None)


def _messages(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
    elif isinstance(value, ProblemWords):
        yield from value.messages.values()
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _messages(each)


def _plain(text: str) -> str:
    """As it is read: doubled braces are one."""
    return "".join(literal for literal, _, _, _ in Formatter().parse(text))
