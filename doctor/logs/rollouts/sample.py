"""One answer of a rollout dump, whatever wrote it, and what its text tells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from doctor.oracles.episodes import Episode, episode

#: columns in which frameworks and agents tell in a word, or in an error's text, how an episode ended
ENDS = (
    "finish_reason", "stop_reason", "termination_reason", "termination", "exit_status", "exit_reason", "done_reason",
    "failure_reason", "error", "error_category", "error_message", "exception", "status",
)  # fmt: skip

#: an answer ends in a loop when one piece of text stands there this often running and covers this many characters;
#: rules of dashes and tables of numbers stay below
LOOP_TIMES, LOOP_CHARS = 6, 240
_PROBE, _LOOKED_AT = 24, 6_000

_ASKERS = frozenset({"system", "user", "tool", "developer", "human"})


class DumpNotReadable(Exception):  # noqa: N818 - the file is at fault, or a library is missing; the message says which
    """A dump cannot be read; the message is a reason for the user, without the path."""


class Tokens(NamedTuple):
    """What a record of tokens tells of one answer.

    Args:
        trained: tokens that the loss counts, `strange` of them that the engine never sampled.
        scored: tokens whose log probabilities both sides gave, `gap` their mean |difference|, `ratio` the mean of exp
            of it.

    """

    trained: int
    strange: int
    scored: int
    gap: float
    ratio: float


@dataclass(slots=True)
class Sample:
    """One answer.

    Args:
        step: optimizer step or version of the weights; None where the dump does not tell.
        group: what answers to one prompt have in common within a step; None where that cannot be told.
        text: the answer; None where it was not stored as text.
        reward: total reward, NaN for a None or NaN one; None where the dump holds no total.
        parts: reward of each function by name, NaN as above.
        deviates: False when the trainer's own advantage was 0; None where the dump does not tell.
        truncated: whether it was cut off at the length limit; None where the dump does not tell.
        tokens: length of the answer; None where the dump does not tell.
        episode: how it ended, by what its environment said; None where nothing of it was stored.
        scored: what its tokens tell; None where they were not stored.
        run: which attempt of the group it belongs to; None: every row is one.
        file, line: place, the line (or row) counted from 1.

    """

    step: int | None
    group: object
    text: str | None
    reward: float | None
    file: str
    line: int
    parts: Mapping[str, float] = field(default_factory=dict)
    deviates: bool | None = None
    truncated: bool | None = None
    tokens: int | None = None
    run: object = None
    episode: Episode | None = None
    scored: Tokens | None = None


def episode_of(
    row: Mapping[str, Any], answer: Any, reward: float | None, truncated: bool | None = None
) -> Episode | None:
    """How the episode of a row ended; None where its answer was not stored."""
    if not isinstance(answer, (str, list)):
        return None
    return episode(answer, reward, finish=finish_of(row), truncated=truncated)


def finish_of(row: Mapping[str, Any]) -> str | None:
    """All that a row says in words on how its episode ended."""
    words = [row[name] for name in ENDS if isinstance(row.get(name), str) and row[name].strip()]
    return "; ".join(words)[:2000] or None


def number(value: Any) -> float | None:
    """A reward as stored: None for what is no number at all, NaN for NaN."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return None


def missing_is_nan(value: Any) -> float | None:
    """The same where None was written in place of a reward."""
    return math.nan if value is None else number(value)


def whole(value: Any) -> int | None:
    """A step as stored."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 12 else None


def text_of(value: Any) -> str | None:
    """A prompt or an answer as text: a string, or what the model said in a list of messages."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return "\n".join(_contents(value))
    return None


def answer_of(value: Any) -> str | None:
    """The model's part of a conversation."""
    if isinstance(value, list):
        return text_of([each for each in value if isinstance(each, dict) and each.get("role") not in _ASKERS])
    return text_of(value)


def _contents(messages: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for each in messages:
        content = each.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):  # parts of a multimodal message
            yield from (str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
        if each.get("tool_calls"):
            yield "[tool call]"  # an answer that only calls a tool is not empty


def loop_of(text: str) -> str | None:
    """The piece of text that an answer repeats at its end without an end, None where it does not.

    Costs two searches in the last 6,000 characters: the end is looked for once more before itself, and the distance is
    the length of the piece.
    """
    tail = text[-_LOOKED_AT:].rstrip()
    if len(tail) < LOOP_CHARS:
        return None
    probe = tail[-_PROBE:]
    before = tail.rfind(probe, 0, len(tail) - 1)
    if before < 0:
        return None
    length = len(tail) - _PROBE - before
    covered = max(LOOP_CHARS, LOOP_TIMES * length)
    if covered > len(tail) or tail[-covered:-length] != tail[-covered + length :]:
        return None
    return tail[-length:]
