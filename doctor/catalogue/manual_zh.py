"""The manual of a problem in Chinese, made of what its findings say: what is seen, what it does, what to do."""

from __future__ import annotations

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
_REFERENCES = "参考"
#: stands for what is only known when the problem is found
_HOLE = "…"
_SHARED = "doctor.catalogue.shared."  # judgement, and so words, of problems in several areas


def manual_zh(entry: Entry) -> Manual | None:
    """Headline -> explanation and remedy, for each way in which the problem shows; None where it has no text."""
    words = list(dict.fromkeys(_words(entry)))
    if not words:
        return None
    sections: dict[str, str] = {}
    for each in words:
        text = f"说明:{_plain(each.explanation)}\n\n处理方法:{_plain(each.remedy)}"
        heading = _plain(each.headline)
        sections[heading] = f"{sections[heading]}\n\n{text}" if heading in sections else text
    if references := manual(entry).sections.get("References"):
        sections[_REFERENCES] = references
    return Manual(next(iter(sections)), sections)


def found_by(entry: Entry) -> str:
    """When the problem is recognised."""
    ways = ((entry.checks, "启动前检查"), (entry.has_rule, "运行中监测"), (entry.has_signatures, "日志分析"))
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
    """With a mark where the finding says what it saw; of what is said otherwise where it saw nothing, no word."""
    seen = {name for sign, name, _ in OPTION.findall(text) if sign == "?"}
    whole = OPTION.sub(lambda part: "" if part[1] == "!" and part[2] in seen else part[3], text)
    return "".join(literal + (_HOLE if name is not None else "") for literal, name, _, _ in Formatter().parse(whole))
