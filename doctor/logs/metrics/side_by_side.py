"""Two runs of one thing in one excerpt: sections under headings of their own, with the same metrics.

People who report that a result is wrong often quote it beside one that is right: with one card and with two, the
adapter served and merged, one engine and another. A heading is a comment, a command or a rule of dashes. Two
sections are set against each other only where a heading says that something is the same, or where both are nearly the
same command; two checkpoints, or before and after a training, are meant to differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.redact import redact_text
from doctor.catalogue.courses import Compared

_HEADING = later(
    r"^\s*(?:#{1,4}\s+(?P<comment>\S.{2,200})|\$\s+(?P<command>\S.{3,400})"
    r"|[-=]{2,10}\s*(?P<rule>[^\s=-].{2,120}?)\s*[-=]{2,10}$"
    r"|(?:\+ )?(?P<plain>(?:[A-Z_]{1,30}=\S{1,60}\s+)*"
    r"(?:bash|sh|python3?|torchrun|accelerate|deepspeed|vllm|swift|uv run)\s+\S.{3,400})"
    r"|(?P<same>(?:with )?(?:the )?same .{3,120}?:)(?=\s))"
)
_SAME = later(
    r"(?i)\bthe same\b"
    r"|\bsame (?:\w+ ){0,2}(?:data|seed|weights?|batch|adapter|model|command|script|prompts?|config\w*)\b"
    r"|\breference\b|\bcontrol\b|\bmerge[d_]|\bidentical\b|\bonly (?:change|difference)\b"
)
#: headings of what is meant to differ
_MEANT = later(
    r"(?i)\b(?:steps?|epochs?|iter\w*|after (?:\d|training|sft|rl)|later|before|resum\w*|baseline|trained|untrained"
    r"|base model)\b"
)
_VALUE = later(
    r"['\"]?(?P<name>[A-Za-z][\w./@\-]{2,60})['\"]?(?:\s?[:=]\s?|\s)['\"]?(?P<value>-?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?)(?![\w.%:/])"
)
_STEP = later(r"(?i)\b(?:step|iteration)[\s:=]{1,2}(?P<step>\d{1,9})\b")
#: what a result is, whatever its name ends in; times, sizes and counters differ anyway
_RESULT = later(
    r"(?i)(?:^|[/_\-])(?:loss|grad_?norm|reward|score|acc(?:uracy)?|kl|ppo_kl|nll|perplexity|ppl|entropy|mean@\d+|pass@\d+)(?:$|[/_\-@])"
)
_TIMES = later(r"(?i)time|second|sec$|length|tokens|lr$|rate$")
#: sections and lines of an excerpt that are looked at; two results that differ by chance, and two that are the same
_MOST_SECTIONS, _LONGEST, _FACTOR, _SAME_FACTOR, _ALIKE = 6, 600, 1.5, 1.02, 0.5


class _Section(NamedTuple):
    heading: str
    command: bool
    number: int
    values: dict[tuple[str, str], tuple[float, int, str]]


def compared(path: str, lines: Sequence[tuple[int, str]]) -> Iterator[Compared]:
    """Results that two sections of an excerpt set side by side, with the headings that say what differs.

    Args:
        path: of the file.
        lines: (number, text) of the excerpt.

    """
    sections = [each for each in _sections(lines) if each.values]
    if not 2 <= len(sections) <= _MOST_SECTIONS:
        return
    for one, other in combinations(sections, 2):
        if not _comparable(one, other):
            continue
        shared = [key for key in one.values if key in other.values]
        agree = any(_apart(one.values[key][0], other.values[key][0]) <= _SAME_FACTOR for key in shared if _is_loss(key))
        for key in shared:
            (here, _, _), (there, number, text) = one.values[key], other.values[key]
            if _apart(here, there) >= _FACTOR:
                quote = Observed.quoted(path, redact_text(text.strip())[:300], number)
                loss_agrees = agree and "grad" in key[0].lower()
                yield Compared(key[0], _short(other.heading), here, there, quote, _short(one.heading), loss_agrees)


def _sections(lines: Sequence[tuple[int, str]]) -> Iterator[_Section]:
    current: _Section | None = None
    for number, whole in lines:
        text = whole[:_LONGEST]
        match = _HEADING.match(text)
        if match is not None:
            if current is not None:
                yield current
            heading = next(each for each in match.groups() if each)
            current = _Section(heading.strip(" :"), bool(match["command"] or match["plain"]), number, {})
            if not match["same"]:
                continue
            text = text[match.end() :]
        if current is None:
            current = _Section("", False, number, {})
        step = _STEP.search(text)
        for value in _VALUE.finditer(text):
            name = value["name"]
            if _RESULT.search(name) and not _TIMES.search(name):
                current.values.setdefault((name, step["step"] if step else ""), (float(value["value"]), number, text))
    if current is not None:
        yield current


def _comparable(one: _Section, other: _Section) -> bool:
    if not (one.heading and other.heading) or _MEANT.search(f"{one.heading}\n{other.heading}"):
        return False
    if _SAME.search(f"{one.heading}\n{other.heading}"):
        return True
    first, second = set(one.heading.split()), set(other.heading.split())
    return (one.command or other.command) and len(first & second) >= _ALIKE * max(len(first), len(second))


def _is_loss(key: tuple[str, str]) -> bool:
    return "loss" in key[0].lower()


def _short(heading: str) -> str:
    """A heading in a few words: of a command its end, or the note behind it, where what differs stands."""
    text = " ".join(redact_text(heading, homes=False).replace("`", "'").split())
    note = text.partition("  #")[2] or text.partition(" # ")[2]
    text = note.strip() or text
    return text if len(text) <= 60 else f"{text[:28]} … {text[-28:]}"


def _apart(one: float, other: float) -> float:
    if one == other:
        return 1.0
    small, large = sorted((abs(one), abs(other)))
    return large / small if small > 0 and one * other > 0 else float("inf") if large > 1e-3 else 1.0
