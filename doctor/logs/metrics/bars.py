"""Progress bars of trainings in the bytes around a metric line: they tell the step where the line does not."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, NamedTuple, Optional

from doctor.logs.read.figures import AnyBar, bar_of
from doctor.logs.read.quick import piece_around


class Bar(NamedTuple):
    """A progress bar of tqdm: steps done and in all, seconds an iteration; None where it tells none yet."""

    step: int
    total: int
    step_s: Optional[float]


class Behind(NamedTuple):
    """What follows a metric line: the training bar drawn again, and whether another row comes before one."""

    bar: Optional[Bar]
    followed: bool


NOTHING_BEHIND, _FOLLOWED = Behind(None, followed=False), Behind(None, followed=True)
_made_bar: Any = partial(tuple.__new__, Bar)
_made_behind: Any = partial(tuple.__new__, Behind)
#: bytes behind a line in which its bar may stand, and those in which it stands mostly, behind five line ends at most
_FAR, _NEAR = 1000, 6
#: descriptions of the bars that count training steps; the Trainer's own bar has none
_TRAINING_BARS = frozenset({b"", b"Train", b"train", b"Training", b"Training Progress"})


def parse_bar(text: bytes) -> Optional[Bar]:
    """A training progress bar, None for other text and for bars that count something else than steps."""
    return _training_bar(bar_of(text, 0, len(text)))


def _training_bar(told: Optional[AnyBar]) -> Optional[Bar]:
    """A bar that was read, None where it is none or counts something else."""
    if told is None or (told[0] and told[0].strip().rstrip(b":") not in _TRAINING_BARS):
        return None
    return _made_bar(told[1:])  # type: ignore[no-any-return]


def last_bar(text: bytes, *, cut: bool = False) -> Optional[Bar]:
    """The last training progress bar in a stretch of text, such as the tail of a file.

    Args:
        text: the stretch.
        cut: whether it begins anywhere: a bar that lost its name there may be one of anything.

    """
    at = text.rfind(b"%|")
    if at < 0:
        return None
    start, end = piece_around(text, at)
    if (start or not cut) and (bar := _training_bar(bar_of(text, start, end))):
        return bar
    for segment in reversed(re.split(rb"[\r\n]", text)[cut:]):
        if b"%|" in segment and (bar := parse_bar(segment)):
            return bar
    return None


def look_behind(text: bytes) -> Behind:
    """Find the bar that tqdm draws again right behind a line that it let through, in the bytes that follow."""
    at = text.find(b"%|")
    if at < 0:
        return _FOLLOWED if text.startswith(b"\n{'") or text.lstrip(b"\r\n").startswith(b"{'") else NOTHING_BEHIND
    start, end = piece_around(text, at)
    if end < _FAR and start < _NEAR and b"{'" not in text[:start] and (bar := _training_bar(bar_of(text, start, end))):
        return _made_behind((bar, False))  # type: ignore[no-any-return]
    for segment in re.split(rb"[\r\n]", text[:_FAR])[:6]:
        if segment.startswith(b"{'"):
            return _FOLLOWED
        if b"%|" in segment and (bar := parse_bar(segment)):
            return _made_behind((bar, False))  # type: ignore[no-any-return]
    return NOTHING_BEHIND


def bar_before(data: bytes, start: int, most: int) -> Optional[Bar]:
    """The last training bar in so many bytes before the start of a line; as `last_bar` of them, without a copy."""
    at = data.rfind(b"%|", start - most, start)
    if at < 0:
        return None
    first, end = piece_around(data, at)
    if first > start - most and (bar := _training_bar(bar_of(data, first, end))):
        return bar
    return last_bar(data[start - most : start], cut=True)


def bar_behind(data: bytes, end: int, most: int) -> Behind:
    """What follows the end of a line in so many bytes; as `look_behind` of them, without a copy."""
    if data.startswith(b"\n{'", end):
        return _FOLLOWED
    at = data.find(b"%|", end, end + most)
    if at >= 0:
        first, last = piece_around(data, at)
        if last < end + _FAR and first < end + _NEAR and data.find(b"{'", end, first) < 0:
            bar = _training_bar(bar_of(data, first, last))
            if bar is not None:
                return _made_behind((bar, False))  # type: ignore[no-any-return]
    return look_behind(data[end : end + most])
