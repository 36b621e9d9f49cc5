"""Runs that stood still before they were ended: no step for long, and no failure of anybody's own.

A progress bar that is drawn again at its end tells how long its last step has been ago; metric lines with stamps tell
when steps were made, and the last stamp of all files when the end came. A pause alone proves nothing, and a pause in
which something was saved, evaluated or loaded is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import mutable, record
from doctor.base.redact import redact_text
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.stillness import Stillness
from doctor.logs.failures.case import Case
from doctor.logs.failures.victims import failed_by_itself
from doctor.logs.metrics.bars import parse_bar

_AREA = "launch"
_ELAPSED = later(r"\[(?:(\d{1,4}):)?(\d{1,3}):(\d\d)<")
_ANY_BAR = later(r"\d{1,3}%\|[^\n]{0,400}\| *(\d{1,12})/\d{1,12} \[")
_OTHER_BAR = later(
    r"(?P<what>[A-Z][\w \-.]{2,60}?): *\d{1,3}%\|[^|\n]{0,400}\| *(?P<step>\d{1,12})/(?P<total>\d{1,12}) \["
)
_BUSY = later(r"\b(?:[Ss]aving|[Ee]valuat|[Ll]oading|[Cc]aptur|[Cc]ompil|[Dd]ownload|[Rr]unning [Ee]val)")

#: pauses by the bar: at least so many steps, and seconds; by stamps: of the longest pause before, and seconds
BAR_STEPS, BAR_S = 10, 10.0
#: of other work, whose parts may differ a lot: the longest answers come last
OTHER_STEPS, OTHER_S = 50, 900.0
STAMP_TIMES, STAMP_S = 5, 60.0
_ROWS = 6  # fewer metric lines with stamps do not tell what is usual
_LINES = 20_000  # looked at from the end
_NS = 1_000_000_000


@mutable
class Pace:
    """When the metric lines of one log were written.

    Args:
        file: the log; `line`, `step`: of the last one.
        first_ns, last_ns, longest_ns: the first and the last stamp, and the longest time between two; `rows`: how many.

    """

    file: str
    line: int = 0
    step: int | None = None
    first_ns: int = 0
    last_ns: int = 0
    longest_ns: int = 0
    rows: int = 0

    def see(self, t_ns: int, step: int | None, line: int) -> None:
        """Take a line in."""
        if self.rows:
            self.longest_ns = max(self.longest_ns, t_ns - self.last_ns)
        else:
            self.first_ns = t_ns
        self.rows += 1
        self.last_ns, self.step, self.line = t_ns, step, line


class Drawn(NamedTuple):
    """The training bar at the end of a log: how long after the last step it was drawn for the last time.

    Args:
        step, total: what it shows; `line`: of the last drawing.
        first_s, last_s: seconds from its start to the first drawing of that step, and to the last.
        what: it counts, where it is not that of the training.

    """

    step: int
    total: int
    first_s: float
    last_s: float
    line: int
    what: str = ""


@record
class Ending:
    """What the last lines of a log tell of a pause; `busy`: number of the last line that tells of other work."""

    drawn: Drawn | None = None
    busy: int = 0


def ending_of(case: Case, lines: Sequence[tuple[int, str]], pace: Pace | None) -> Ending:
    """How a log ends; nothing where it says itself that it did not stand still.

    Args:
        case: of this log alone.
        lines: those that were kept of it.
        pace: of its metric lines, where they carry stamps.

    """
    if not _may_stand(case):
        return Ending()
    last = lines[-_LINES:]
    drawn = (_last_bar(last) or _last_other(last)) if not case.backwards else None
    asked = pace is not None and pace.rows >= _ROWS
    busy = (number for number, text in reversed(last) if _is_busy(text))
    return Ending(drawn, next(busy, 0) if asked else 0)


def _may_stand(case: Case) -> bool:
    return (
        case.marks.success is None
        and not case.marks.served
        and not any(failed_by_itself(each) for each in case.failures)
    )


def find(case: Case, endings: Sequence[Ending], paces: Iterable[Pace], entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says about a run that stood still; None for every other run.

    Args:
        case: what all logs say.
        endings: of each of its sources.
        paces: of those with metric lines that carry stamps.
        entries: the catalogue.

    """
    if not _may_stand(case):
        return None
    busy = {source.path: each.busy for source, each in zip(case.sources, endings, strict=True)}
    by_stamps = (_by_stamps(case, pace, busy[pace.file]) for pace in paces)
    still = next((each for each in (_by_bar(case, endings), *by_stamps) if each), None)
    if still is None:
        return None
    for entry in entries:
        if entry.area == _AREA and not (entry.has_rule or entry.has_signatures or entry.checks):
            judge = function_of(entry, "of_stillness")
            if judge is not None:
                finding: Finding = judge(still)
                return finding
    return None


def _by_bar(case: Case, endings: Sequence[Ending]) -> Stillness | None:
    """The training bar was drawn again at the same step, long after that step."""
    for source, ending in zip(case.sources, endings, strict=True):
        if ending.drawn is not None and (still := _of_bar(case, source.path, ending.drawn)) is not None:
            return still
    return None


def _last_bar(lines: Sequence[tuple[int, str]]) -> Drawn | None:
    """The training bar that is drawn last, where no other work followed, and when that step was drawn first."""
    last: tuple[int, int, float, int] | None = None  # step, total, seconds, line of the last drawing
    first = 0.0
    for number, text in reversed(lines):
        seen = _bar(text)
        if seen is None:
            if _is_busy(text):
                break  # something else went on
            continue
        if last is None:
            last = (*seen, number)
        elif seen[:2] != last[:2]:
            break
        first = seen[2]
    return None if last is None else Drawn(last[0], last[1], first, last[2], last[3])


def _last_other(lines: Sequence[tuple[int, str]]) -> Drawn | None:
    """The bar of other work than steps that a log ends with, where its last drawings show the same count."""
    drawn: Drawn | None = None
    for number, text in reversed(lines):
        match = _OTHER_BAR.search(text) if "%|" in text else None
        elapsed = _ELAPSED.search(text) if match else None
        if match is None or elapsed is None:
            if text.strip():
                break
            continue
        hours, minutes, seconds = (int(each or 0) for each in elapsed.groups())
        at = float(hours * 3600 + minutes * 60 + seconds)
        step, total, what = int(match["step"]), int(match["total"]), match["what"].strip()
        if drawn is None:
            drawn = Drawn(step, total, at, at, number, what)
        elif (step, total, what) != (drawn.step, drawn.total, drawn.what):
            break
        drawn = drawn._replace(first_s=at)
    return drawn


def _of_bar(case: Case, path: str, drawn: Drawn) -> Stillness | None:
    """The pause that a bar tells, where it is long beside the steps before."""
    step, total, first, seconds, line, what = drawn
    if step == 0 or step >= total:
        return None
    usual = first / step
    least = max(OTHER_S, OTHER_STEPS * usual) if what else max(BAR_S, BAR_STEPS * usual)
    if seconds - first < least:
        return None
    quote = f"step {step} of {total} was done after {first:.0f} s, the bar ends at {seconds:.0f} s"
    where, behind = Where(file=path, line=line, step=None if what else step), _behind(case, seconds - first)
    return Stillness(seconds - first, usual, step, total, where, (Observed.quoted(path, quote, line),), behind, what)


def _bar(text: str) -> tuple[int, int, float] | None:
    """(step, of how many, seconds since the start) of a training bar."""
    if "%|" not in text or (elapsed := _ELAPSED.search(text)) is None:
        return None
    bar = parse_bar(text.encode())
    if bar is None:
        return None
    hours, minutes, seconds = (int(each or 0) for each in elapsed.groups())
    return bar.step, bar.total, hours * 3600 + minutes * 60 + seconds


def _by_stamps(case: Case, pace: Pace, busy: int) -> Stillness | None:
    """The stamps of the metric lines end long before those of the other lines, and no other work comes after them."""
    ends = [clock[-1][1] for clock in case.clocks.values() if clock]
    if pace.rows < _ROWS or not ends or case.last is None:
        return None
    pause = max(ends) - pace.last_ns
    if pause < max(STAMP_S * _NS, STAMP_TIMES * pace.longest_ns) or busy > pace.line:
        return None
    usual = (pace.last_ns - pace.first_ns) / (pace.rows - 1) / _NS
    evidence = (
        Observed.quoted(pace.file, f"the last metric line, {pause / _NS:.0f} s before the end of the logs", pace.line),
        Observed.quoted(case.last.file, redact_text(case.last.text)[:500], case.last.number),
    )
    where = Where(file=pace.file, line=pace.line, step=pace.step)
    return Stillness(pause / _NS, usual, pace.step, None, where, evidence, _behind(case, pause / _NS))


def _is_busy(text: str) -> bool:
    """Whether a line tells of other work than steps; the lines of a traceback do not."""
    return not text.startswith("  ") and bool(_ANY_BAR.search(text) or _BUSY.search(text))


def _behind(case: Case, pause_s: float) -> list[tuple[int, float]]:
    """Ranks whose last stamp is older than that of the latest rank by half of the pause, where not all are."""
    times = {each.rank: each.last.time_ns for each in case.processes.values() if each.rank is not None}
    known = {rank: time_ns for rank, time_ns in times.items() if time_ns is not None}
    latest = max(known.values(), default=0)
    late = [(rank, (latest - time_ns) / _NS) for rank, time_ns in known.items() if latest - time_ns > pause_s * _NS / 2]
    return sorted(late, key=lambda each: -each[1]) if len(late) < len(known) else []
