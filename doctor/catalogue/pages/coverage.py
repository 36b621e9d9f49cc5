"""How each problem can be seen: before launch, during the run, after its end; where it cannot, why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from doctor.base.record import record
from doctor.catalogue.foretold import foretold
from doctor.catalogue.index import Entry
from doctor.catalogue.problem import AREAS
from doctor.catalogue.unseen import REASONS
from doctor.catalogue.words import ProblemWords, words_of

TIMES = ("before", "during", "after")
#: nobody has written the detector, and nothing is known that forbids it
OPEN = "open"
#: how many of those that are seen before launch are seen by checks of other problems, and how that is told
BY_OTHERS, _OF_OTHERS = "by others", "check of "
COLUMNS = ("problems", "before", BY_OTHERS, "during", "after", OPEN)
#: areas whose problems show in the figures or events of a run alone, unless their file says otherwise
_IN_THE_RUN: Mapping[str, str] = {
    "rl": "only metrics of the run show it", "numerics": "only metrics of the run show it",
    "perf": "only times and loads of the run show it", "gpu": "it is an event of the device or its driver",
    "nccl": "it is an event of the links between processes", "host": "it is an event of the machine",
    "unknown": "only the log shows the cause", "tracking": "the service answers only during the run",
    "ray": "it is an event of the cluster", "checkpoint": "only what the run writes or reads shows it",
    "memory": "the memory in use is known only during the run",
}  # fmt: skip
_NO_FIGURES = "no figure of a run shows it"
_BY_ROWS = "a table: its rows are counted"


@record
class Seen:
    """One problem: how it is seen at each time ("check", "rule", "log", "series"), or why not, or `OPEN`."""

    id: str
    name: str
    area: str
    how: Mapping[str, str]
    why_not: Mapping[str, str]

    def told(self, time: str) -> str:
        """The detector, or the reason."""
        return self.how.get(time) or self.why_not[time]


def coverage(entries: Iterable[Entry]) -> tuple[Seen, ...]:
    """Every problem of the catalogue."""
    entries = tuple(entries)
    tables = {entry.id.partition("/")[0] for entry in entries if "/" in entry.id}
    return tuple(_seen(entry, is_table=entry.id in tables) for entry in entries)


def _seen(entry: Entry, *, is_table: bool) -> Seen:
    words = words_of(entry.module) if entry.words is not None else None
    how = {} if words is None else dict(words.seen)
    if entry.checks:
        how["before"] = "check"
    elif words is not None and words.foreseen:
        how["before"] = _OF_OTHERS + ", ".join(words.foreseen)
    if entry.has_rule:
        how["during"] = "rule"
    elif entry.has_signatures:
        how["during"] = "log"  # `doctor run` and `monitor` follow the command's output
    if entry.has_signatures or entry.has_rule:
        how["after"] = "log" if entry.has_signatures else "series"
    elif entry.checks and words is not None and _follows(words):
        how["after"] = "check"  # judged over what the log tells, and its failure is the one that it foretells
    usual = {"before": _before(entry), "during": _NO_FIGURES if entry.checks else OPEN, "after": _after(entry)}
    if is_table and not how:
        usual = dict.fromkeys(TIMES, _BY_ROWS)
    reasons = {} if words is None else words.unseen
    why_not = {time: REASONS[reasons[time]] if time in reasons else usual[time] for time in TIMES if time not in how}
    return Seen(entry.id, entry.name, entry.area, how, why_not)


def _follows(words: ProblemWords) -> bool:
    """Whether a log can show the failure that a check foretells: by `leads_to`, or by an error that its words quote."""
    return bool(words.leads_to or foretold(words.told))


def _before(entry: Entry) -> str:
    if entry.has_rule and not entry.has_signatures:
        return "only metrics of the run show it"
    return _IN_THE_RUN.get(entry.area, OPEN) if not entry.affects else OPEN


def _after(entry: Entry) -> str:
    """A check alone: what only slows or misleads a run prints nothing; an error prints something."""
    silent = not entry.ends_run or entry.severity.value != "error"
    return REASONS["silent"] if silent else OPEN


def numbers(rows: Iterable[Seen]) -> dict[str, dict[str, int]]:
    """Area -> how many problems, how many are seen at each time, how many of them by others, how many are open."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = found.setdefault(row.area, dict.fromkeys(COLUMNS, 0))
        counts["problems"] += 1
        for time in TIMES:
            counts[time] += time in row.how
        counts[BY_OTHERS] += row.how.get("before", "").startswith(_OF_OTHERS)
        counts[OPEN] += OPEN in row.why_not.values()
    return {area: found[area] for area in (*AREAS, *found) if area in found}


def reasons_before(rows: Iterable[Seen]) -> list[tuple[str, int]]:
    """Why problems are not seen before launch, and how many, the most frequent reason first."""
    return Counter(row.why_not["before"] for row in rows if "before" in row.why_not).most_common()


def markdown(rows: tuple[Seen, ...]) -> str:
    """The tables of docs/coverage.md."""
    lines = [
        "| area | problems | before launch | of these by checks of others | during the run | after its end | open |",
        "|---|---|---|---|---|---|---|",
    ]
    table = numbers(rows)
    for area, each in table.items():
        lines.append(f"| {area} | {' | '.join(str(each[name]) for name in COLUMNS)} |")
    total = [sum(each[name] for each in table.values()) for name in COLUMNS]
    lines.append(f"| **all** | {' | '.join(map(str, total))} |")
    lines += ["", "| why not before launch | problems |", "|---|---|"]
    lines += [f"| {reason} | {count} |" for reason, count in reasons_before(rows)]
    return "\n".join(lines) + "\n"
