"""Sentences with which a library says that it stops waiting: for whom, for how long, and which setting is the limit.

A longer limit helps only if what is waited for is slow, and not if it is dead. So the setting that the sentence names
is the remedy only where the lines around show work that takes long; else it is what to look at that comes first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.base.redact import redact_text

_NUMBER = r"(?P<number>\d[\d,]*(?:\.\d+)?) ?(?P<unit>ms|milliseconds?|s|sec|secs|seconds?|min|mins|minutes?|h|hours?)\b"
_PATTERNS = (
    later(rf"(?i)\b(?:timed?[ -]?out|time limit (?:was )?(?:reached|exceeded)) after {_NUMBER}"),
    later(rf"(?i)\b(?:exceed(?:s|ed|ing)?|reached|hit) (?:the |its )?(?:\w+ ){{0,2}}(?:time-?out|time limit|deadline)"
          rf"(?: \w+)?(?: of|:|=)? ?\(?{_NUMBER}"),
    later(rf"(?i)\b(?:did|does|do|was|were|has|have|could)(?: not|n't) (?:\w+ ){{1,5}}?(?:within|in|after) {_NUMBER}"),
    later(rf"(?i)\bfailed to (?:\w+ ){{1,8}}?within {_NUMBER}"),
    later(rf"(?i)\b(?:waited|no (?:response|answer|reply|heartbeat)) (?:\S+ ){{0,6}}?for {_NUMBER}"),
    later(r"(?i)\b(?:timed?[ -]?out|time-?out) (?:while|waiting|when|during|in)\b"),
)  # fmt: skip
_FOR = later(
    r"(?i)\b(?:(?:while )?wait(?:ing|ed)? (?:for|on|until)|while|when|during|(?:response|answer|reply|heartbeat) from) "
    r"(?P<what>[^.;:!\n]{3,80}?)(?=\s*(?:[.;:!(,]|$|\bwithin\b|\bafter \d|\bfor \d|\btimed out\b|\bpotential\b))"
)
_SUBJECT = later(
    r"(?i)\bfailed to (?P<deed>[\w ]{3,60}?) within \d"
    r"|\b(?P<asked>(?:request|call|connection|rpc|message) to [\w \-./:]{2,60}?) timed out|"
    r"(?P<what>(?:[\w\-]+ ){0,4}[\w\-]+) (?:did|does|has|was|were|have|could)(?: not|n't) (?:respond|answer|start"
    r"|become|finish|complete|register|join|come|reply|reach|connect|initiali[sz]e)"
)
#: what a sentence or its neighbours name as the limit: an environment variable, an option, an argument
_LIMIT = later(
    r"\b(?P<variable>[A-Z][A-Z0-9_]{4,60}(?:TIMEOUT|TIME_OUT|WAIT|DEADLINE|RETRIES)[A-Z0-9_]{0,20})\b"
    r"|(?P<option>--[\w\-.]{0,60}time-?out[\w\-.]{0,20})|[`'\"](?P<argument>\w{0,60}time_?out\w{0,20})[`'\"=]"
    r"|\b(?P<name>\w{2,60}_time_?out(?:_\w{1,10})?)\b"
)
#: work that takes minutes and is not dead
_SLOW = later(
    r"(?i)\b(?P<what>runtime_env|pip install|install(?:ing|ation)\b|download(?:ing|s)?\b|compil(?:ing|ation|es)\b"
    r"|loading (?:\w+ )?(?:weights|checkpoints?|shards|model)|captur(?:ing|e) (?:cuda )?graphs?|autotun\w+"
    r"|warm(?:ing)?[ -]?up|building \w+|autoscal\w+|converting \w+)"
)
_UNITS = {"ms": 0.001, "mil": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hou": 3600.0}
_LONGEST = 2_000


class TimedOut(NamedTuple):
    """A wait that has had its time.

    Args:
        what: what was waited for, in the sentence's own words; "" where it does not say.
        seconds: how long, None where it does not say.
        limit: name of the variable, option or argument that it calls its limit; "" where it names none.

    """

    what: str
    seconds: float | None
    limit: str = ""


def read(text: str, around: str = "") -> TimedOut | None:
    """What a sentence says of a wait that ended by its time limit; None where it says no such thing.

    Args:
        text: the message or line.
        around: the lines after it, in which a limit may be named.

    """
    text = text[:_LONGEST]
    match = next((found for pattern in _PATTERNS if (found := pattern.search(text))), None)
    if match is None:
        return None
    told = _FOR.search(text[max(0, match.start() - 120) :]) or _SUBJECT.search(text)
    words = next((each for each in told.groups() if each), "") if told else ""
    what = redact_text(" ".join(words.split()), homes=False).replace("`", "'")
    limit = _LIMIT.search(text) or _LIMIT.search(around[:_LONGEST])
    named = next((each for each in limit.groups() if each), "") if limit else ""
    if not (what or named):
        return None
    return TimedOut(what, _seconds(match), named)


def slow_work(text: str) -> str:
    """The first words that show work which takes long; "" where none do."""
    match = _SLOW.search(text[-20_000:])
    return " ".join(match["what"].split()) if match else ""


def _seconds(match: re.Match[str]) -> float | None:
    groups = match.groupdict()
    if not groups.get("number"):
        return None
    unit = groups["unit"].lower()
    factor = next((factor for start, factor in _UNITS.items() if unit.startswith(start) and unit != "ms"), 0.001)
    return float(groups["number"].replace(",", "")) * factor
