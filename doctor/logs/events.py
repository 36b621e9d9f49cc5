"""What the guard left in a run folder: its alarms, the exceptions it saw, and where the ranks stood still."""

from __future__ import annotations

import importlib
import re
import traceback
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from doctor.core.alarm import finding_of
from doctor.core.finding import Evidence, Finding, Role
from doctor.core.index import Entry
from doctor.core.outcome import Crashed
from doctor.core.ranks import ranks_text
from doctor.core.record import record
from doctor.core.run_dir import RunDir
from doctor.core.standing import Standstill, judge, standing_of
from doctor.logs.case import Case
from doctor.logs.exits import Exit, signal_of
from doctor.logs.lines import Line

Event = Mapping[str, Any]
_AREA = "launch"

#: the exception by which the guard ends a run that no trainer drives
_STOP = "doctor.monitors.guard.shield.GuardStop"


@record
class Told:
    """What the events of some run folders say.

    Args:
        alarms: findings of the guard, one a problem, in order of time.
        stopping: the alarm for which the guard ended the run; None where it only warned.
        standstill: of a run that stood still and did not go on; None for every other.
        exceptions: events of the exceptions that ended the program on some rank, the earliest first.
        crashed: bugs of ours.
        files: the files read.

    """

    alarms: tuple[Finding, ...] = ()
    stopping: Finding | None = None
    standstill: Finding | None = None
    exceptions: tuple[Event, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def summary(self) -> tuple[str, ...]:
        """What was read, one clause."""
        count = len(self.alarms)
        return (f"{count} problem{'s' if count != 1 else ''} told by the guard",) if count else ()


def read(paths: Iterable[str], entries: Iterable[Entry]) -> Told:
    """The events of the run folders among the paths; nothing where there is none."""
    runs = [RunDir(each) for each in paths if Path(each).is_dir() and (Path(each) / "events").is_dir()]
    events = [event for run in runs for event in run.read_events()]
    if not events:
        return Told()
    problems = {each.id: each for each in entries}
    crashed: list[Crashed] = []
    about, judge_of = _who_judges(problems.values())
    standstill = _standstill(events, judge_of, crashed)
    # the ranks' own words, read again, say more than the alarm of the first that spoke
    alarms = [each for each in _alarms(events, problems, crashed) if each.problem.id != about]
    files = (str(file) for run in runs for file in sorted(run.path.glob("events/*.jsonl")))
    ended = tuple(each for each in events if each["kind"] == "exception" and not each["data"].get("thread"))
    asked = next((each["id"] for each in events if each["kind"] == "alarm" and _ends(each)), None)
    stopping = next((each for each in alarms if each.problem.id == asked), None)
    return Told(tuple(alarms), stopping, standstill, ended, tuple(crashed), tuple(files))


def _alarms(events: Sequence[Event], problems: Mapping[str, Entry], crashed: list[Crashed]) -> list[Finding]:
    """One finding a problem: the first that names a module, else the first."""
    found: dict[str, Finding] = {}
    for event in events:
        if event["kind"] != "alarm" or event["id"] not in problems:
            continue
        try:
            problem = importlib.import_module(problems[event["id"]].module).PROBLEM
            finding = finding_of(event["data"], problem)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            crashed.append(Crashed(event["id"], f"{type(exc).__name__}: {exc}", traceback.format_exc()))
            continue
        known = found.get(problem.id)
        if known is None or (known.where.module is None and finding.where.module is not None):
            found[problem.id] = finding
    return list(found.values())


def _ends(event: Event) -> bool:
    return event["data"].get("policy") not in (None, "warn", "skip-step")


def after_stop(findings: Sequence[Finding], told: Told, unknown: Container[str]) -> tuple[Finding, ...]:
    """The alarm first, where what ended the run is the guard's own stop, which no problem stands for.

    Args:
        findings: as ranked.
        told: what the guard said.
        unknown: ids of the problems that say only that nothing is known.

    """
    first = findings[0] if findings else None
    if first is None or told.stopping is None or first.problem.id not in unknown:
        return tuple(findings)
    if not any(_STOP in each.text for each in first.evidence):
        return tuple(findings)
    others = (each for each in findings[1:] if each.problem.id != told.stopping.problem.id)
    return (replace(told.stopping, role=Role.CAUSE), *others)


def _who_judges(entries: Iterable[Entry]) -> tuple[str, Callable[[Standstill], Finding] | None]:
    """The problem of runs that stand still, and what it says of one."""
    for entry in entries:
        if entry.area == _AREA and not (entry.has_rule or entry.has_signatures or entry.checks):
            judges = getattr(importlib.import_module(entry.module), "of_standstill", None)
            if judges is not None:
                return entry.id, judges
    return "", None


def _standstill(
    events: Sequence[Event], judge_of: Callable[[Standstill], Finding] | None, crashed: list[Crashed]
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
    except (KeyError, TypeError, ValueError) as exc:
        crashed.append(Crashed("events", f"{type(exc).__name__}: {exc}", traceback.format_exc()))
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
    quote = Evidence("events", f"rank {event['rank']} raised {event['data'].get('type')} first{others}")
    return (replace(first, where=where, evidence=(*first.evidence, quote)), *findings[1:])


def with_end(case: Case, paths: Iterable[str]) -> None:
    """Add to the case how the command ended, where a run folder among the paths tells it.

    An end that went well is told by the last line of the log, for the log itself may not say so.
    """
    for path in paths:
        run = RunDir(path)
        code = run.read_run().get("exit") if run.run_json.is_file() else None
        last = case.last
        if not isinstance(code, int) or last is None:
            continue
        if code == 0:
            case.marks.success = case.marks.success or last
            continue
        said = f"exit code {code}"
        line = Line(said, "", None, None, str(run.run_json), 1, source=len(case.sources))
        if signal_of(code) == "SIGINT":
            case.marks.asked = case.marks.asked or line
        elif not any(each.code or each.signal for each in case.exits):
            case.exits.append(Exit(None, None, code, signal_of(code), line))


_SPACE = re.compile(r"\s+|^\[rank\d+\]:", re.MULTILINE)


def _squeezed(text: str) -> str:
    return _SPACE.sub(" ", text).strip()[:300]


def write_logs(run: RunDir) -> None:
    """Write the exceptions as logs of the ranks, where the command's own output was not kept.

    Raises:
        OSError: the folder cannot be written.

    """
    folder = run.path / "logs"
    if any(folder.glob("*.log")):
        return
    texts: dict[int, list[str]] = {}
    for event in run.read_events():
        if event["kind"] == "exception" and not event["data"].get("thread"):
            texts.setdefault(event["rank"] or 0, []).append(str(event["data"].get("traceback", "")))
    for rank, parts in texts.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"rank{rank}.log").write_text("\n".join(parts), encoding="utf-8")
