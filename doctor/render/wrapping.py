"""Breaks lines of a text with Chinese in it, where a line may end almost anywhere and not at blanks alone.

A simple form of Unicode's line breaking (https://www.unicode.org/reports/tr14/): before and after each ideograph, but
never before punctuation that closes, nor after punctuation that opens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from doctor.render.ink import Text, cell_len

_IDEOGRAPH = r"\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff"
_FIRST_IDEOGRAPH = "\u2e80"
_CLOSING = r",.;:!?)\]}、。,;:!?)】」』》〉”’…·%"
_OPENING = r"(\[{(【「『《〈“‘"
#: what stays together: a blank, an ideograph or a word, with the punctuation that clings to it
_PIECE = rf"[ \t]+|[{_OPENING}]*(?:[{_IDEOGRAPH}]|[^\s{_IDEOGRAPH}、。,;:!?()【】「」『』《》〈〉“”]+)?[{_CLOSING}]*"


def wrapped(text: Text, width: int) -> list[Text]:
    """Lines of at most `width` columns; a piece that is longer is cut where it must be."""
    if max(text.plain, default="") < _FIRST_IDEOGRAPH or not _compiled(f"[{_IDEOGRAPH}]").search(text.plain):
        return text.wrapped(width)
    lines: list[Text] = []
    for paragraph in text.lines():
        lines.extend(paragraph.divide(list(_breaks(paragraph.plain, width))))
    return lines


@lru_cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when a text asks for it: of classes of twenty thousand characters that takes 30 ms."""
    return re.compile(pattern)


def _breaks(plain: str, width: int) -> Iterator[int]:
    """Offsets at which lines begin; blanks at the end of a line may stand over."""
    used = 0
    for start, piece in _pieces(plain, width):
        cells = cell_len(piece)
        if used and used + cells > width and piece.strip():
            yield start
            used = 0
        used += cells


def _pieces(plain: str, width: int) -> Iterator[tuple[int, str]]:
    """Pieces in order, those wider than a line cut into characters."""
    at = 0
    while at < len(plain):
        found = _compiled(_PIECE).match(plain, at)
        piece = (found.group() if found else "") or plain[at]
        if cell_len(piece) <= width:
            yield at, piece
        else:
            yield from ((at + number, character) for number, character in enumerate(piece))
        at += len(piece)
