"""Runs checks over facts: gate by version, hand facts in, sort what comes out."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from doctor.base.evidence import Observations, UnknownValue
from doctor.base.opened import NotSeen
from doctor.base.record import distinct
from doctor.catalogue.bites import rank_of
from doctor.catalogue.finding import Finding, Skip
from doctor.catalogue.index import CheckEntry, Entry
from doctor.catalogue.outcome import Crashed, Outcome, Skipped
from doctor.catalogue.problem import AREAS, Severity
from doctor.catalogue.words import words_of

if TYPE_CHECKING:
    from doctor.catalogue.check import Judgement
    from doctor.facts.packages import Packages

_TOO_OLD = "PYT001"  # the interpreter can have no TRL with GRPO
#: found from sources at large; a problem of its own says the same in better words
_GENERAL = frozenset({"LCH6560/source"})
_CONFIDENCES = ("confirmed", "likely")


@distinct
class RunState:
    """What has come up so far."""

    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    crashed: list[Crashed] = field(default_factory=list)
    found_ids: set[str] = field(default_factory=set)
    checks_run: int = 0
    judged: dict[str, int] = field(default_factory=dict)  # area -> checks that judged


def facts_needed(entries: Iterable[Entry]) -> set[str]:
    """Names of all facts that the checks of `entries` ask for, needed or optional."""
    names = {fact for entry in entries for each in entry.checks for fact, _ in each.facts.values()}
    if any(entry.affects for entry in entries):
        names.add("packages")
    return names


def run_checks(entries: Iterable[Entry], world: Observations, found: Collection[str] = ()) -> Outcome:
    """Judge a world, each check once; a crash is an outcome of its own and the others go on.

    `found`: ids of problems that others found already, which makes moot what requires their absence.
    """
    started = time.monotonic()
    entries = list(entries)
    run = RunState(found_ids=set(found))
    for entry in in_order(entries):
        judge_entry(run, entry, world)
    _drop_repeated(run)
    _drop_unattainable(run, world)
    findings = in_order_of_importance(run.findings, bites_of(entries))
    seconds = time.monotonic() - started
    skipped = _unique(run.skipped)
    return Outcome(findings, skipped, tuple(run.crashed), run.checks_run, seconds, areas_of(run.judged, skipped))


def bites_of(entries: Iterable[Entry]) -> Mapping[str, str]:
    """What the problems' own files say of when they bite."""
    return {entry.id: entry.bites for entry in entries if entry.bites}


def areas_of(judged: Mapping[str, int], skipped: Iterable[Skipped]) -> Mapping[str, tuple[int, int]]:
    """Area -> (checks that judged, problems that were not judged), in the order of the areas."""
    blind = Counter(
        next((area for area, prefix in AREAS.items() if prefix == each[:3]), "unknown")
        for each in {each.id for each in skipped if not each.ignored}
    )
    return {area: (judged.get(area, 0), blind[area]) for area in AREAS if judged.get(area) or blind[area]}


def in_order_of_importance(findings: Iterable[Finding], bites: Mapping[str, str]) -> tuple[Finding, ...]:
    """What the others hang on, then by severity, by when it bites, by confidence; the same order every time."""
    return tuple(sorted(findings, key=lambda finding: importance(finding, bites)))


def _drop_repeated(run: RunState) -> None:
    """What a general problem says of a setting is left out where a problem of its own says it of the same one."""
    for finding in [each for each in run.findings if each.problem.id in _GENERAL]:
        quoted = {each.text for each in finding.evidence if each.text}
        nearer = next(
            (each for each in run.findings if each.problem.id not in _GENERAL and each.severity is not Severity.INFO
             and any(one.text in quoted for one in each.evidence)), None,
        )  # fmt: skip
        if nearer is not None:
            run.findings.remove(finding)
            run.skipped.append(Skipped(finding.problem.id, f"{nearer.problem.id} was found"))


def _drop_unattainable(run: RunState, world: Observations) -> None:
    """No finding orders a release that the interpreter cannot have; beside PYT001, which says so, it is left out."""
    if not any(each.commands for each in run.findings):
        return
    try:
        interpreter = world.value("interpreter")
        python: str | None = None if interpreter is None else interpreter.version
    except NotSeen:
        return
    if python is None:
        return
    from doctor.diagnosis.installable import attainable

    kept = []
    for finding in run.findings:
        reachable = attainable(finding, python)
        if not reachable.commands and finding.commands and _TOO_OLD in run.found_ids:
            reason = f"what it orders (`{finding.commands[0]}`) cannot be had for Python {python}"
            run.skipped.append(Skipped(finding.problem.id, reason))
        else:
            kept.append(reachable)
    run.findings = kept


def importance(finding: Finding, bites: Mapping[str, str]) -> tuple[Any, ...]:
    """Sort key: what the others hang on, severity, when it bites, confidence, then id and place."""
    where = finding.where
    return (
        not finding.foremost,
        finding.severity.rank,
        rank_of(finding.problem.id, bites, ends_run=finding.problem.ends_run),
        _CONFIDENCES.index(finding.confidence.value),
        finding.problem.id,
        where.file or "",
        where.line or 0,
        where.gpu if where.gpu is not None else -1,
    )


def judge_entry(run: RunState, entry: Entry, world: Observations) -> None:
    """Run the checks of one problem, if its versions can be here."""
    gate = out_of_range(entry.affects, world)
    if gate:
        run.skipped.append(Skipped(entry.id, gate))
    if gate is None:
        for each in entry.checks:
            _run_one(run, entry, each, world)


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Problems that have checks: prerequisites before what they make moot, else in order of id."""
    entries = [entry for entry in entries if entry.checks]
    by_id = {entry.id: entry for entry in entries}
    done: dict[str, Entry] = {}

    def visit(entry: Entry, above: tuple[str, ...]) -> None:
        if entry.id in done or entry.id in above:
            return
        for each in entry.checks:
            for need in each.requires:
                if need in by_id:
                    visit(by_id[need], (*above, entry.id))
        done[entry.id] = entry

    for entry in entries:
        visit(entry, ())
    return list(done.values())


def out_of_range(affects: Mapping[str, str], world: Observations) -> str | None:
    """None: the problem can exist here. "": it cannot, its versions are not installed. Else why that is unknown."""
    if not affects:
        return None
    packages = world.get("packages")
    if packages is None or not packages.known:
        return packages.text if packages else "the installed packages are not known"
    unknown = ""
    for name, specifier in affects.items():
        try:
            there = _matches(packages.value, name, specifier)
        except NotSeen:
            there = None
        if there is False:
            return ""
        if there is None:
            unknown = f"the installed version of `{name}` is not known"
    return unknown or None


def _matches(packages: Packages, name: str, specifier: str) -> bool | None:
    """Whether a version in a range is installed; None where that is not known."""
    found = packages.matches(name, specifier)
    return False if found is None and name not in packages.distributions and packages.complete else found


def _run_one(run: RunState, entry: Entry, each: CheckEntry, world: Observations) -> None:
    moot = next((need for need in each.requires if need in run.found_ids), None) if run.found_ids else None
    if moot is not None:
        run.skipped.append(Skipped(entry.id, f"{moot} was found"))
        return
    arguments: dict[str, Any] = {}
    for parameter, (fact, needed) in each.facts.items():
        observed = world.get(fact)
        if observed is not None and not isinstance(value := observed.value, UnknownValue):
            arguments[parameter] = value  # `known`, without the call: thousands of nodes are asked of dozens of facts
        elif needed and observed is not None and not observed.applies:
            return
        elif needed:
            run.skipped.append(Skipped(entry.id, observed.text if observed else f"`{fact}` was not collected"))
            return
        else:
            arguments[parameter] = None
    try:
        _take(run, entry, _judge(entry.module, each.table, each.function), arguments)
    except Exception as exc:  # noqa: BLE001 - a bug of ours is a result, not the end of the run
        import traceback

        run.crashed.append(Crashed(entry.id, f"{type(exc).__name__}: {exc}", traceback.format_exc()))
        return
    run.checks_run += 1
    run.judged[entry.area] = run.judged.get(entry.area, 0) + 1


def _take(run: RunState, entry: Entry, judge: Callable[..., Judgement], arguments: Mapping[str, Any]) -> None:
    """Take what a check says; where it asks an open fact for what nobody saw, what it said before that counts.

    A check that crashes is not believed in what it said before.
    """
    said: list[Finding | Skip] = []
    try:
        for each in judge(**arguments):
            said.append(each)  # noqa: PERF402 - one by one, for the loop may break off
    except NotSeen as gap:
        said.append(Skip(str(gap)))
    for each in said:
        if isinstance(each, Skip):
            run.skipped.append(Skipped(entry.id, each.reason))
        else:
            run.findings.append(each)
            run.found_ids.add(entry.id)


@cache
def _judge(module: str, table: str, name: str) -> Callable[..., Judgement]:
    """The function of a check; that of a table is told the words of the row."""
    function: Callable[..., Judgement] = getattr(importlib.import_module(table or module), name)
    return partial(function, words_of(module)) if table else function


def _unique(skipped: list[Skipped]) -> tuple[Skipped, ...]:
    return tuple(dict.fromkeys(skipped))
