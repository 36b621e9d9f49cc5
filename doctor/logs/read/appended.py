"""Runs that were written one behind the other into the same file: the last of them is the one that is asked about.

`nohup` appends to its file, and says so whenever it starts a command
(https://www.gnu.org/software/coreutils/manual/html_node/nohup-invocation.html). Where that line comes again after a run
ended, and what follows begins as the run before did, the same command was started anew. Without it a run is known by
its whole beginning: line after line the same, but for the clock. The next stage of a script, whose failure is a
consequence of the first, begins otherwise, for it has other arguments; other ranks of the same run, and the workers
that torchrun starts again, begin alike without a new run, so each line of the beginning must stand there once a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.logs.lines import attempts
from doctor.logs.lines.prefixes import strip
from doctor.logs.metrics.lines import ToldRows
from doctor.logs.read.scan import Scanned

_NOHUP = "nohup: ignoring input"
#: one of these is in what a run ends with, well or badly
_ENDS = (
    "Traceback (most recent call last)", "error: ", "Segmentation fault", "Killed", "core dumped", "train_runtime",
    "Training completed",
)  # fmt: skip
_FENCE = "```"  # a pasted thread shows logs side by side
#: what torchrun says when it starts workers again, whose first failure is the cause of the others
#: https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/agent/server/api.py
_RESTARTS = ("will restart worker group", "Restarting worker group", "attempt_1/")
#: lines by which two runs are known to be of one command, and how long such a line is at least
_FIRST_LINES, _LONG = 40, 20
#: a whole beginning: up to so many long lines, at least so many, and the share that may differ
_BEGINNING, _FEWEST, _OTHERS = 40, 5, 0.1
_HEAD = 200  # characters of a line that count
_MOST_RUNS, _TRIED = 50, 3
#: a model, a script or a folder of the user's: launchers' banners and libraries' warnings are those of every stage
_OF_USER = later(r"(?<![\w:/])(?:[~/][\w.\-~]+/)?[\w.\-~]+/[\w.\-/]+")
_WORD = later(r"[A-Za-z_ /.\-]{12,}")
_DIGITS = later(r"\d+")
#: dates, clocks, process ids, ports, addresses of objects: what differs whenever a command is started
_MOMENT = later(r"0x[0-9a-f]+|\d+(?:[.,:]\d+)+|\d{3,}|\b\d\d?\b(?=[-/]\d)|(?<=\d[-/])\d\d?\b")
#: one of these is in the name of every exception that is told
_NAMING = ("Error", "Exception", "Exit", "Interrupt")
_LONGEST = 500  # characters of a line that may name one
_EXCEPTION = later(r"(?:\w+\.){0,8}(?P<name>[A-Z]\w{1,80}(?:Error|Exception|Exit|Interrupt))\b(?::|\s*$)")


class Last(NamedTuple):
    """The last of several runs: the line that it starts with, how many there are, what ended the one before it.

    `ends`: what ended any of those before it, each once, in order.
    """

    line: int
    runs: int
    before: str = ""
    ends: tuple[str, ...] = ()


def last_run(lines: Sequence[tuple[int, str]]) -> Last | None:
    """Where the last of several runs of a command begins, None where there is one or it cannot be told.

    Args:
        lines: (number, text) of those lines of a file that were kept, in order.

    """
    starts = _of_nohup(lines) or _of_beginnings(lines) or attempts.starts(lines, _told)
    if len(starts) < 2:
        return None
    ends = [_ended_by(lines[one:other]) for one, other in pairwise(starts)]
    return Last(lines[starts[-1]][0], len(starts), ends[-1], tuple(dict.fromkeys(filter(None, ends))))


def unclear(lines: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """What processes ended with that may have been attempts of one run, each once; none where all ended alike."""
    places = attempts.started_again(lines, _told)
    ends = [_ended_by(lines[one:other]) for one, other in pairwise([0, *places, len(lines)])] if places else []
    names = tuple(dict.fromkeys(filter(None, ends)))
    return names if len(names) > 1 else ()


def _of_nohup(lines: Sequence[tuple[int, str]]) -> list[int]:
    """Positions at which nohup says that it starts a command that begins as the one before; none where it does not."""
    starts: list[int] = []
    ended = False
    if not any(_NOHUP in text for _, text in lines):
        return starts
    for place, (_, text) in enumerate(lines):
        if text.startswith(_FENCE):
            return []
        if _NOHUP in text and (not starts or ended):
            starts.append(place)
            ended = False
        elif starts and not ended:
            ended = _is_end(text)
    if len(starts) < 2 or not _first_lines(lines[starts[-2] : starts[-1]]) & _first_lines(lines[starts[-1] :]):
        return []
    return starts


def _is_end(text: str) -> bool:
    return any(each in text for each in _ENDS)


def _first_lines(run: Sequence[tuple[int, str]]) -> set[str]:
    """What a run begins with, its figures left out; not what every Python program prints when it fails."""
    first = (text.strip() for _, text in run[:_FIRST_LINES] if _NOHUP not in text)
    return {_DIGITS.sub("0", text) for text in first if len(text) >= _LONG and not text.startswith("Traceback")}


def _of_beginnings(lines: Sequence[tuple[int, str]]) -> list[int]:
    """Positions at which the whole beginning of the file comes again after a run ended; none where it does not."""
    beginning = _beginning(lines)
    for number, first in enumerate(beginning[:_TRIED]):
        word = max(_WORD.findall(first), key=len, default="\n")
        places = [place for place, (_, text) in enumerate(lines) if word in text]
        if 1 < len(places) <= _MOST_RUNS:  # what stands there more often tells no beginning
            starts = [place for place in places if _told(lines[place][1]) == first]
            return _runs(lines, starts, beginning[number:])
    return []


def _runs(lines: Sequence[tuple[int, str]], starts: list[int], beginning: list[str]) -> list[int]:
    """The same positions where runs begin at all of them, and all but the last came to an end; none otherwise."""
    if len(starts) < 2 or any(text.startswith(_FENCE) for _, text in lines):
        return []
    runs = [lines[one:other] for one, other in pairwise([*starts, len(lines)])]
    if not all(_alike(beginning, _beginning(run)) for run in runs) or not all(_over(run) for run in runs[:-1]):
        return []
    return starts


def _beginning(run: Sequence[tuple[int, str]]) -> list[str]:
    """The first long lines of a run, each once, without what differs from start to start, up to its end."""
    found: dict[str, None] = {}
    for _, text in run[: 10 * _BEGINNING]:
        if len(found) == _BEGINNING or _is_end(text):
            break
        if len(told := _told(text)) >= _LONG:
            found[told] = None
    return list(found)


def _told(text: str) -> str:
    """What a line says whenever the command is started."""
    return _MOMENT.sub("0", text[:_HEAD].strip())


def _alike(one: list[str], other: list[str]) -> bool:
    """Whether two runs begin alike, line by line, and something of the user's own is among it."""
    shorter = min(len(one), len(other))  # one of them may have failed earlier
    same = [here for here, there in zip(one, other, strict=False) if here == there]
    return (
        shorter >= _FEWEST
        and len(same) >= shorter * (1 - _OTHERS)
        and any(_OF_USER.search(each) and "site-packages" not in each for each in same)
    )


def _over(run: Sequence[tuple[int, str]]) -> bool:
    """Whether a run came to an end, and by nobody who starts its workers again."""
    return any(_is_end(text) for _, text in run) and not any(each in text for _, text in run for each in _RESTARTS)


def _ended_by(run: Sequence[tuple[int, str]]) -> str:
    """The exception that a run ended with, "" where it names none."""
    for _, text in reversed(run):
        if any(each in text for each in _NAMING) and (match := _EXCEPTION.match(strip(text[:_LONGEST]).text)):
            return match["name"]
    return ""


def of_last_run(found: Scanned) -> tuple[Scanned, Last | None]:
    """What was found in the last run of a log, and which it is; all of it where there is one run."""
    last = last_run(found.lines)
    if last is None:
        return found, None
    hits = [each for each in found.hits if each.line >= last.line]
    counts = {each: sum(hit.signature == each for hit in hits) for each in {hit.signature for hit in hits}}
    lines = [each for each in found.lines if each[0] >= last.line]
    return replace(found, lines=lines, hits=hits, counts=counts), last


def rows_since(batches: Iterable[ToldRows], line: int) -> Iterator[ToldRows]:
    """Metric lines from a line on."""
    for each in batches:
        keep = [place for place, number in enumerate(each.lines) if number >= line]
        if len(keep) == len(each):
            yield each
        elif keep:
            yield each.only(keep)
