"""Heads that no list knows: what stands before most lines of one log is learnt from that log itself.

A head matters where it hides a traceback: its first line is recognised anywhere, its frames only where they begin the
line. So the head is what stands before such a first line, with other numbers or names in it, if half of the lines begin
like that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from doctor.base.patterns import later
from doctor.logs.lines.prefixes import ANSI, LEARNT, strip

_TRACEBACK = "Traceback (most recent call last)"
_LONGEST, _TRIED, _FEWEST = 120, 8, 5
_SAMPLE = 5_000  # lines
_LARGEST_BYTES = 1 << 24
_ENDS = later(r"(?:[\])>|:#-]|\s)$")
_SIGN = later(r"[^\w\s]")
_PARTS = later(r"(?P<number>\d+)|(?P<word>[A-Za-z_]\w*)|(?P<blank>\s+)|(?P<other>.)", re.DOTALL)
#: stamps in a head do not tell who speaks
_TIME = later(r"\d{4}[-/]\d\d[-/]\d\d[T ]?|\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?Z?")
#: a process prints that many lines at least: what is another in every line is a count, and no name
_LINES_EACH = 5


class Head:
    """What stands before the lines of one log.

    Args:
        pattern: of it.
        named: whether it tells processes apart.

    """

    def __init__(self, pattern: re.Pattern[str], *, named: bool) -> None:
        """Keep both."""
        self._pattern, self._named = pattern, named

    def cut(self, text: str) -> str:
        """A line with its head marked as such, so that `strip` cuts it off; the line itself where it has none."""
        plain = ANSI.sub("", text) if "\x1b" in text else text
        match = self._pattern.match(plain)
        if match is None:
            return text
        return f"{LEARNT}{_speaker(match[0]) if self._named else ''}{LEARNT}{plain[match.end() :]}"


def without_head(path: str) -> list[str] | None:
    """The lines of a log with their heads marked for `strip`, None where no head is to be learnt.

    Logs beyond 16 MB and packed ones are left as they are: what is learnt takes all of a log.
    """
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST_BYTES:
            return None
        data = file.read_bytes()
    except OSError:
        return None
    heads = list(_hiding(_with_traceback(data)))
    if not heads or b"\0" in data:  # most logs end here, and are not taken apart for it
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    head = _head_of(lines, heads)
    return None if head is None else [head.cut(text) for text in lines]


def _with_traceback(data: bytes) -> Iterator[str]:
    """Lines of a log in which a traceback begins, but not where the line does."""
    sought = _TRACEBACK.encode()
    at = data.find(sought)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if at > start:
            yield data[start:end].decode("utf-8", "replace")
        at = data.find(sought, end)


def _head_of(lines: Sequence[str], heads: Sequence[str]) -> Head | None:
    """The head that hides tracebacks in a log, None where there is none.

    Args:
        lines: all of it, in order.
        heads: what stands before tracebacks there.

    """
    texts = [ANSI.sub("", text) for text in lines[:_SAMPLE] if text.strip()]
    for words in (False, True):  # other numbers first, other names only where these do not do
        for head in heads:
            pattern = _like(head, words=words)
            matched = [match[0] for text in texts if (match := pattern.match(text))]
            if len(matched) >= max(_FEWEST, len(texts) / 2):
                return Head(pattern, named=len(set(map(_speaker, matched))) <= len(matched) / _LINES_EACH)
    return None


def _hiding(texts: Iterable[str]) -> Iterator[str]:
    """What stands before the first lines of tracebacks, where no form that is known cuts it off."""
    found: dict[str, None] = {}
    for text in texts:
        told = strip(text[:2_000]).text
        head = ANSI.sub("", text).partition(_TRACEBACK)[0]
        left = told.partition(_TRACEBACK)[
            0
        ]  # words alone are a sentence: "Original Traceback" of a data loader's worker
        if not _SIGN.search(left) or not 1 < len(head) <= _LONGEST or not _ENDS.search(head):
            continue
        found[head] = None
        if len(found) == _TRIED:
            break
    return iter(found)


def _like(head: str, *, words: bool) -> re.Pattern[str]:
    """Matches heads that differ in numbers, or in words as well; the blank behind may lack before an empty line."""
    parts = []
    for match in _PARTS.finditer(head.rstrip()):
        kind = match.lastgroup
        if kind == "number":
            parts.append(r"\d{1,20}")
        elif kind == "blank":
            parts.append(r"\s{1,20}")
        else:
            parts.append(r"\w{1,80}" if kind == "word" and words else re.escape(match[0]))
    return re.compile("".join(parts) + (r"(?:\s|$)" if head != head.rstrip() else ""))


def _speaker(head: str) -> str:
    """Who speaks, by a head."""
    return " ".join(_TIME.sub("", head).strip(" \t|:>[]()#-").split())[:80]
