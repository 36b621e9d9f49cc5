"""Tells cheaply whose a line is: by heads that were seen before, or by a first word with which no prefix begins.

It answers as `doctor.logs.lines.prefixes.strip` does, or not at all. Few processes print most of the lines of a log,
and most lines carry no stamp.
"""

from __future__ import annotations

from functools import lru_cache

from doctor.base.patterns import later
from doctor.logs.lines.prefixes import LEVEL, has_codes, may_begin, strip

#: how far a head may reach, and the characters with which one begins -> what it ends with
_LONGEST = 120
_ENDS = {"(": ") ", "[": "]: ", "\x1b": "\x1b[0m "}
#: what servers write behind their name
_LEVEL_WORD = later(rf"{LEVEL}: {{1,8}}(?! )")


def process_of(line: str) -> str | None:
    """The process that a line names, "" for none.

    None where `strip` must tell: the line may carry a stamp, say nothing, or begin as no other line did. It must not
    hold JSON, a line that Ray folded, a bar with a rank behind it, or a task number of srun.
    """
    ends_with = _ENDS.get(line[:1])
    if ends_with is None:
        return "" if _is_plain(line, 0) or is_bare(line) else None
    end = line.find(ends_with, 0, _LONGEST) + len(ends_with)
    if end < len(ends_with):
        return None
    process = _process_in(line[:end])
    if process is None or _is_plain(line, end):
        return process
    if (level := _LEVEL_WORD.match(line, end)) and _is_plain(line, level.end()):
        return process
    return None


def is_bare(line: str) -> bool:
    """Whether `strip` would leave a line as it is; False where that is not known. What it may not hold: see above."""
    if "\x1b" in line or ("[" in line and has_codes(line)):
        return False
    if line.startswith(" "):
        return not line.startswith((" [", " (")) and not line.isspace()
    return _is_plain(line, 0)


def _is_plain(line: str, at: int) -> bool:
    """Whether something stands at a place, and is no prefix."""
    end = line.find(" ", at, at + _LONGEST)
    return end > at and _is_plain_word(line[at:end])


@lru_cache(maxsize=16_384)
def _is_plain_word(word: str) -> bool:
    return not ("[" in word or "\x1b" in word or word.isspace() or may_begin(f"{word} "))


@lru_cache(maxsize=4096)
def _process_in(head: str) -> str | None:
    """The process that a head names which is all of a prefix; None where it is not, or more than that."""
    seen = strip(f"{head}x")
    whole = seen.text == "x" and seen.stamp is None and not seen.repeated
    return seen.process if whole and ("\x1b" in head or not has_codes(head)) else None
