"""Tells of many lines at once which of them the readers of structure need to look at; of the others nobody takes note.

Each reader knows words of which one is in every line that matters to it. All of these words are looked for in one pass
by a scan engine, for asking line by line, word by word, costs many times as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from doctor.base.patterns import later
from doctor.logs.failures import tracebacks
from doctor.logs.lines import exits, life
from doctor.logs.lines.prefixes import EATEN, has_codes
from doctor.logs.match.literal_engines import Engine, make_engine
from doctor.logs.told import lines as told

#: who has to look at a line: those who put failures together, who collect ends of processes, other marks, settings,
#: tables of the elastic launcher
FAILURE, EXIT, MARK, SETTING, TABLE = 1, 2, 4, 8, 16
#: it tells of the command, of settings, variables, versions or devices
TOLD = 256
EVERYBODY = FAILURE | EXIT | MARK | SETTING | TABLE | TOLD
#: it may be a line of progress; it may show that a server answers; it may be a dict of settings
PROGRESS, SERVING, DICT = 32, 64, 128

_TABLES = ("Failures:", "Root Cause (first")
_SETTINGS = (
    "orld_size", "orld size", "Num processes", "nranks ", "RANK ", "with config: ", "non-default args: {", " ...",
    "python3.", " set by environment to ",
)  # fmt: skip
#: JSON that may hold a line, whose own words are only read once it is taken apart; what Ray folded; and what may be a
#: bar with a rank behind it
_INNER = ('{"', "{ ", "[repeated ", "][")
_WORTHS = (
    (FAILURE, tracebacks.BEGINNINGS), (EXIT, exits.HINTS), (MARK, life.ASKED_HINTS), (SETTING, _SETTINGS),
    (TABLE, _TABLES), (EVERYBODY, _INNER), (PROGRESS, life.PROGRESS_HINTS), (SERVING, life.SERVING_HINTS),
    (DICT, ("{'",)), (TOLD, told.HINTS),
)  # fmt: skip


def _by_word(worths: Iterable[tuple[int, Iterable[str]]]) -> dict[str, int]:
    by_word: dict[str, int] = {}
    for each, words in worths:
        for word in words:
            by_word[word] = by_word.get(word, 0) | each
    return by_word


_WORDS = _by_word(_WORTHS)
#: the same in lower case, for what is written either way
_LOWERED = _by_word(((MARK, life.SUCCESS_HINTS), (SETTING, life.NAME_HINTS)))
_ESCAPED = later(r"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\n]{0,200}\x07)?")


def worth(lines: Sequence[str]) -> list[int]:
    """What each line is worth, of the flags above together; 0 where nobody needs to look at it."""
    text = "\n".join(lines)
    if text.count("\n") >= len(lines):
        text = "\n".join(each.replace("\n", " ") for each in lines)
    if has_codes(text):
        text = EATEN.sub("", _ESCAPED.sub("", text))
    found = [0] * len(lines)
    data = text.encode("utf-8", "surrogatepass")
    _mark(found, data, _WORDS, _engine(lowered=False))
    _mark(found, data.lower(), _LOWERED, _engine(lowered=True))
    return found


def _mark(found: list[int], data: bytes, words: dict[str, int], engine: Engine) -> None:
    worths = tuple(words.values())
    line = counted = 0
    for word, at in engine.find(data):
        if at > counted:
            line += data.count(b"\n", counted, at)
            counted = at
        found[line] |= worths[word]


@lru_cache(maxsize=2)
def _engine(*, lowered: bool) -> Engine:
    return make_engine([each.encode() for each in (_LOWERED if lowered else _WORDS)])
