"""What the guard left in a run folder: its alarms, the exceptions it saw, and where the ranks stood still."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.ranks import ranks_text
from doctor.base.record import record, replace
from doctor.catalogue.alarm import finding_of
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import declared, function_of
from doctor.catalogue.standing import Standstill, judge, standing_of
from doctor.catalogue.unrecognised import Unrecorded
from doctor.logs.failures.case import Case
from doctor.logs.lines.exits import Exit, signal_of
from doctor.logs.lines.lines import Line
from doctor.run import guard_stop
from doctor.run.aside import noted, place_of
from doctor.run.folder import RunDir

Event = Mapping[str, Any]
_AREA = "launch"
#: https://www.gnu.org/software/coreutils/manual/html_node/timeout-invocation.html
_TIMED_OUT = 124


@record
class Told:
    """What the events of some run folders say.

    Args:
        alarms: findings of the guard, one a problem, in order of time.
        stopping: the alarm for which the guard ended the run; None where it only warned.
        stop: what the guard tells of its stop; None where it stopped nothing, or is older than this event.
        standstill: of a run that stood still and did not go on; None for every other.
        exceptions: events of the exceptions that ended the program on some rank, the earliest first.
        unread: sentences on events that hold something else than the guard writes.
        files: the files read.

    """

    alarms: tuple[Finding, ...] = ()
    stopping: Finding | None = None
    stop: guard_stop.Stop | None = None
    standstill: Finding | None = None
    exceptions: tuple[Event, ...] = ()
    unread: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def summary(self) -> tuple[str, ...]:
        """What was read, one clause."""
        count = len(self.alarms)
        told = (f"{count} problem{'s' if count != 1 else ''} reported by the guard",) if count else ()
        return told if self.stop is None else (*told, self.stop.clause)


def read(paths: Iterable[str], entries: Iterable[Entry]) -> Told:
    """The events of the run folders among the paths; nothing where there is none."""
    runs = [RunDir(each) for each in paths if Path(each).is_dir() and (Path(each) / "events").is_dir()]
    events = [event for run in runs for event in run.read_events()]
    if not events:
        return Told()
    problems = {each.id: each for each in entries}
    unread: list[str] = []
    about, judge_of = _who_judges(problems.values())
    standstill = _standstill(events, judge_of, unread)
    # the ranks' own words, read again, say more than the alarm of the first that spoke
    alarms = [each for each in _alarms(events, problems, unread) if each.problem.id != about]
    files = (str(file) for run in runs for file in sorted(run.path.glob("events/*.jsonl")))
    ended = tuple(each for each in events if each["kind"] == "exception" and not each["data"].get("thread"))
    stop = guard_stop.of_events(events)
    return Told(tuple(alarms), _stopping(events, alarms, stop), stop, standstill, ended, tuple(unread), tuple(files))


def exceptions_of(paths: Iterable[str]) -> Iterator[tuple[Event, str]]:
    """The exceptions that ended programs, as the run folders among the paths tell them, each with its run folder."""
    for run in (RunDir(each) for each in paths if (Path(each) / "events").is_dir()):
        for event in run.read_events():
            if event["kind"] == "exception" and not event["data"].get("thread"):
                yield event, str(run.path / "events")


def stopped(events: Sequence[Event], entries: Iterable[Entry]) -> tuple[guard_stop.Stop | None, Finding | None]:
    """What the guard tells of its stop, and the alarm for which it stopped the run; None for what it does not tell."""
    stop = guard_stop.of_events(events)
    if stop is None:
        return None, None
    alarms = _alarms(events, {each.id: each for each in entries if each.id == stop.id}, [])
    return stop, next(iter(alarms), None)


def _stopping(events: Sequence[Event], alarms: Iterable[Finding], stop: guard_stop.Stop | None) -> Finding | None:
    """The alarm that a stop names; of an older guard, which told no stop, the first that asked for one."""
    asked = next((each["id"] for each in events if each["kind"] == "alarm" and _ends(each)), None)
    wanted = asked if stop is None else stop.id
    return next((each for each in alarms if each.problem.id == wanted), None)


def _alarms(events: Sequence[Event], problems: Mapping[str, Entry], unread: list[str]) -> list[Finding]:
    """One finding a problem: the first that names a module, else the first."""
    found: dict[str, Finding] = {}
    for event in events:
        if event["kind"] != "alarm" or event["id"] not in problems:
            continue
        try:
            problem = declared(problems[event["id"]]).problem
            finding = finding_of(event["data"], problem)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            unread.append(f"an alarm of {event['id']} is damaged ({type(exc).__name__}: {exc})")
            continue
        known = found.get(problem.id)
        if known is None or (known.where.module is None and finding.where.module is not None):
            found[problem.id] = finding
    return list(found.values())


def _ends(event: Event) -> bool:
    return event["data"].get("policy") not in (None, "warn", "skip-step")


def _who_judges(entries: Iterable[Entry]) -> tuple[str, Callable[[Standstill], Finding] | None]:
    """The problem of runs that stand still, and what it says of one."""
    for entry in entries:
        if entry.area == _AREA and not (entry.has_rule or entry.has_signatures or entry.checks):
            judges = function_of(entry, "of_standstill")
            if judges is not None:
                return entry.id, judges
    return "", None


def _standstill(
    events: Sequence[Event], judge_of: Callable[[Standstill], Finding] | None, unread: list[str]
) -> Finding | None:
    """What the ranks that stood still say together; None where they all went on."""
    last: dict[tuple[str, int], Event] = {}
    for event in events:
        process = (event["host"], event["pid"])
        if event["kind"] == "hang":
            last[process] = event
        elif event["kind"] == "step" and process in last and (event["step"] or 0) > (last[process]["step"] or 0):
            del last[process]
    try:
        standstill = judge(standing_of(each) for each in last.values())
        return None if standstill is None or judge_of is None else judge_of(standstill)
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        unread.append(f"an event of a hang is damaged ({type(exc).__name__}: {exc})")
        return None


def with_place(findings: Sequence[Finding], told: Told) -> tuple[Finding, ...]:
    """The findings, the first with rank and step where an exception event tells them and the logs do not."""
    if not findings or not told.exceptions:
        return tuple(findings)
    first, event = findings[0], told.exceptions[0]
    text = _squeezed(f"{event['data'].get('type', '')}: {event['data'].get('text', '')}")
    if not any(_squeezed(each.text) in text or text in _squeezed(each.text) for each in first.evidence if each.text):
        return tuple(findings)
    where = first.where
    where = replace(
        where,
        rank=event["rank"] if where.rank is None else where.rank,
        step=event["step"] if where.step is None else where.step,
    )
    if event["rank"] is None:
        return (replace(first, where=where), *findings[1:])
    ranks = sorted({each["rank"] for each in told.exceptions if each["rank"] is not None})
    others = f"; ranks that raised: {ranks_text(ranks)}" if len(ranks) > 1 else ""
    quote = Observed.quoted("events", f"rank {event['rank']} raised {event['data'].get('type')} first{others}")
    return (replace(first, where=where, evidence=(*first.evidence, quote)), *findings[1:])


def with_end(case: Case, paths: Iterable[str]) -> None:
    """Add to the case how the command ended, where a run folder among the paths tells it.

    An end that went well is told by the last line of the log, for the log itself may not say so; where it has none, by
    the note of the run itself.
    """
    for path in paths:
        run = RunDir(path)
        code = noted(run).get("exit")
        if not isinstance(code, int):
            continue
        line = Line(f"exit code {code}", "", None, None, str(place_of(run, "exit")), 1, source=len(case.sources))
        if code == 0:
            case.marks.success = case.marks.success or case.last or line
        elif code == _TIMED_OUT and _is_timeout(noted(run).get("argv")):
            continue  # the time was up: that is no failure of its own, and no good end either
        elif signal_of(code) == "SIGINT":
            case.marks.asked = case.marks.asked or line
        elif not any(each.code or each.signal for each in case.exits):
            case.exits.append(Exit(None, None, code, signal_of(code), line))


def _is_timeout(argv: Any) -> bool:
    """Whether a command is that of coreutils that ends another one after a time."""
    return isinstance(argv, list) and bool(argv) and Path(str(argv[0])).name == "timeout"


def with_unrecorded(case: Case, paths: Iterable[str]) -> Iterable[str]:
    """Add to the case what the console log of a run folder among the paths lacks; says so, one clause each."""
    for path in paths:
        run = RunDir(path)
        told = noted(run).get("console")
        if not isinstance(told, Mapping):
            continue
        lost = [told.get(name) for name in ("lost_bytes", "lost_lines")]
        lost_bytes, lost_lines = (each if isinstance(each, int) else 0 for each in lost)
        reason = told.get("reason")
        reason = reason if isinstance(reason, str) and _ERRNO.fullmatch(reason) else "EIO"
        case.unrecorded = Unrecorded(reason, lost_bytes, lost_lines, str(run.path), str(place_of(run, "console")))
        yield f"{run.console}: {lost_bytes} bytes ({lost_lines} lines) could not be recorded ({reason})"


#: name of an error number
_ERRNO = later(r"E[A-Z0-9]{1,20}|\d{1,4}")
_SPACE = later(r"\s+|^\[rank\d+\]:", re.MULTILINE)


def _squeezed(text: str) -> str:
    return _SPACE.sub(" ", text).strip()[:300]
