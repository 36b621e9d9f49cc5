"""Runs checks over facts: gate by version, hand facts in, sort what comes out."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from doctor.core.finding import Finding, Skip
from doctor.core.index import CheckEntry, Entry
from doctor.core.outcome import Crashed, Outcome, Skipped
from doctor.facts.base import FactState

_CONFIDENCES = ("confirmed", "likely")


@dataclass
class Run:
    """What has come up so far."""

    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    crashed: list[Crashed] = field(default_factory=list)
    found_ids: set[str] = field(default_factory=set)
    checks_run: int = 0


def facts_needed(entries: Iterable[Entry]) -> set[str]:
    """Names of all facts that the checks of `entries` ask for, needed or optional."""
    names = {fact for entry in entries for each in entry.checks for fact, _ in each.facts.values()}
    if any(entry.affects for entry in entries):
        names.add("packages")
    return names


def run_checks(entries: Iterable[Entry], states: Mapping[str, FactState]) -> Outcome:
    """Judge `states`, each check once; a crash is an outcome of its own and the others go on."""
    started = time.monotonic()
    run = Run()
    for entry in in_order(entries):
        judge_entry(run, entry, states)
    findings = tuple(sorted(run.findings, key=importance))
    return Outcome(findings, _unique(run.skipped), tuple(run.crashed), run.checks_run, time.monotonic() - started)


def importance(finding: Finding) -> tuple[Any, ...]:
    """Sort key: severity, confidence, then id and place, so that the order is the same every time."""
    where = finding.where
    return (
        finding.severity.rank,
        _CONFIDENCES.index(finding.confidence.value),
        finding.problem.id,
        where.file or "",
        where.line or 0,
        where.gpu if where.gpu is not None else -1,
    )


def judge_entry(run: Run, entry: Entry, states: Mapping[str, FactState]) -> None:
    """Run the checks of one problem, if its versions can be here."""
    gate = out_of_range(entry.affects, states)
    if gate:
        run.skipped.append(Skipped(entry.id, gate))
    if gate is None:
        for each in entry.checks:
            _run_one(run, entry, each, states)


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


def out_of_range(affects: Mapping[str, str], states: Mapping[str, FactState]) -> str | None:
    """None: the problem can exist here. "": it cannot, its versions are not installed. Else why that is unknown."""
    if not affects:
        return None
    state = states.get("packages")
    if state is None or state.status != "ok":
        return state.reason if state else "the installed packages are not known"
    packages = state.value
    unknown = ""
    for name, specifier in affects.items():
        matches = packages.matches(name, specifier)
        if matches is False or (matches is None and name not in packages.distributions and packages.complete):
            return ""
        if matches is None:
            unknown = f"the installed version of `{name}` is not known"
    return unknown or None


def _run_one(run: Run, entry: Entry, each: CheckEntry, states: Mapping[str, FactState]) -> None:
    moot = next((need for need in each.requires if need in run.found_ids), None) if run.found_ids else None
    if moot is not None:
        run.skipped.append(Skipped(entry.id, f"{moot} was found"))
        return
    arguments: dict[str, Any] = {}
    for parameter, (fact, needed) in each.facts.items():
        state = states.get(fact)
        if state is not None and state.status == "ok":
            arguments[parameter] = state.value
        elif needed and state is not None and not state.applies:
            return
        elif needed:
            run.skipped.append(Skipped(entry.id, state.reason if state else f"`{fact}` was not collected"))
            return
        else:
            arguments[parameter] = None
    try:
        results = list(_function(entry.module, each.function)(**arguments))
    except Exception as exc:  # noqa: BLE001 - a bug of ours is a result, not the end of the run
        import traceback

        run.crashed.append(Crashed(entry.id, f"{type(exc).__name__}: {exc}", traceback.format_exc()))
        return
    run.checks_run += 1
    for result in results:
        if isinstance(result, Skip):
            run.skipped.append(Skipped(entry.id, result.reason))
        else:
            run.findings.append(result)
            run.found_ids.add(entry.id)


@cache
def _function(module: str, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _unique(skipped: list[Skipped]) -> tuple[Skipped, ...]:
    return tuple(dict.fromkeys(skipped))
