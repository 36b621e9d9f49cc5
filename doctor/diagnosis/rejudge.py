"""Tries a change before anybody makes it: the inputs as they would be, collected and judged again.

Nothing is written and no file is copied: the readers get the supposed contents in place of the files' own (see
`doctor.readers.files.inputs`). The launch command, the variables and the installed versions are replaced before facts
are asked for, and what a machine says of itself stays as it was seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Any

from doctor.base.evidence import Observations, Observed
from doctor.base.record import record, replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Outcome
from doctor.diagnosis.runner import facts_needed, in_order, run_checks
from doctor.facts.packages import normalised
from doctor.readers.collector import Collector, about_command


@record
class Supposed:
    """What would be different; everything else is as it was judged.

    Args:
        files: real path -> content afterwards.
        argv: the launch command afterwards, None where it stays.
        variables: of the environment: name -> value, None for one that is unset.
        versions: name of a package -> version that is installed then, None for one that is taken out.

    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    argv: tuple[str, ...] | None = None
    variables: Mapping[str, str | None] = field(default_factory=dict)
    versions: Mapping[str, str | None] = field(default_factory=dict)


@record
class Rejudged:
    """What the checks say of the change.

    Args:
        left: findings of the problems that were to go, still there.
        new: findings that did not stand there before, and that are as grave as what was to go.
        unseen: of the problems that were to go: why they can no longer be judged.

    """

    left: tuple[Finding, ...] = ()
    new: tuple[Finding, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the change does what it is for, and nothing worse."""
        return not (self.left or self.new or self.unseen)


def rejudge(
    entries: Iterable[Entry],
    before: Outcome,
    collector: Collector,
    change: Supposed,
    mended: Collection[str],
) -> Rejudged:
    """Judge what `collector` saw with `change` made.

    Args:
        entries: the problems that are judged, all of the catalogue as a rule.
        before: what their checks said of the inputs as they are.
        collector: its facts, which are collected again as far as the change can reach them.
        change: what would be different.
        mended: ids of the problems that the change is to mend.

    """
    entries = list(entries)
    again = _collector(collector, change)
    again.ask({*facts_needed(entries), *collector.states} - {"cluster"})
    other = _changed(collector.states, again.states)
    return _compared(before, _judged_again(entries, before, again.world, other, change.versions), mended)


def _changed(seen: Mapping[str, Observed], now: Mapping[str, Observed]) -> set[str]:
    """Names of the facts that a check can tell from what was seen before."""
    return {name for name in {*seen, *now} if not _is_same(seen.get(name), now.get(name))}


def _judged_again(
    entries: list[Entry], before: Outcome, now: Observations, other: Collection[str], versions: Collection[str]
) -> Outcome:
    """What all checks say of a world: those that get other facts than before are run, of the others it is known.

    A check is a function of its facts, of the versions that its problem can be in, and of whether what it requires was
    found.

    Args:
        entries: all problems.
        before: what their checks said of the world as it is.
        now: the world as it would be.
        other: facts that differ in it.
        versions: names of the packages that do.

    """
    moved = {normalised(name) for name in versions}
    run: dict[str, Entry] = {}
    for entry in in_order(entries):
        judged = any(fact in other for each in entry.checks for fact, _ in each.facts.values())
        if not judged and entry.affects and "packages" in other:
            judged = not moved or any(normalised(name) in moved for name in entry.affects)
        if judged or "interpreter" in other or any(need in run for each in entry.checks for need in each.requires):
            run[entry.id] = entry
    kept = [each for each in before.findings if each.problem.id not in run]
    after = run_checks(run.values(), now, {each.problem.id for each in kept})
    return Outcome(
        (*kept, *after.findings),
        (*(each for each in before.skipped if each.id not in run), *after.skipped),
        (*(each for each in before.crashed if each.id not in run), *after.crashed),
        after.checks_run,
        after.seconds,
    )


def _is_same(one: Observed | None, other: Observed | None) -> bool:
    """Whether a check cannot tell two observations apart."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    return (one.status, one.reason, one.applies) == (other.status, other.reason, other.applies) and bool(
        one.value == other.value
    )


def _collector(seen: Collector, change: Supposed) -> Collector:
    """One that has what the machine said, and reads what the user wrote anew."""
    context = seen.context
    if change.argv is not None:
        context = replace(context, argv=change.argv)
    if change.variables:
        context = replace(context, environ=_with(context.environ, change.variables))
    kept = {name: state for name, state in seen.states.items() if name in seen.given or not _reached(name, change)}
    if change.versions and (packages := _packages(kept.get("packages"), change.versions)) is not None:
        kept["packages"] = packages
    if change.variables and "environment" in kept:  # given, from a file: it is not collected again
        kept["environment"] = _environment(kept["environment"], change.variables)
    return Collector(context, kept, from_file=seen.from_file, supposed=change.files)


def _reached(name: str, change: Supposed) -> bool:
    """Whether the change can make another of a fact: those of the command, and the variables that it is given.

    None of them rests on the installed versions, see tests/remedies/test_rejudge.py.
    """
    written = bool(change.variables or change.argv is not None or change.files)
    return written and (name == "environment" or about_command(name))


def _environment(state: Observed, variables: Mapping[str, str | None]) -> Observed:
    if state.status != "ok":
        return state
    return replace(state, value=replace(state.value, variables=_with(state.value.variables, variables)))


def _with(old: Mapping[str, str], new: Mapping[str, str | None]) -> dict[str, str]:
    """Variables with others laid over them."""
    merged: dict[str, str | None] = {**old, **new}
    return {name: value for name, value in merged.items() if value is not None}


def _packages(state: Observed | None, versions: Mapping[str, str | None]) -> Observed | None:
    """The installed packages with other versions; None where nothing is known of them."""
    if state is None or state.status != "ok":
        return None
    from doctor.facts.packages import Distribution

    there: dict[str, Any] = dict(state.value.distributions)
    for name, version in versions.items():
        if version is None:
            there.pop(name, None)
        elif name in there:
            there[name] = replace(there[name], version=version)
        else:
            there[name] = Distribution(name, version)
    return replace(state, value=replace(state.value, distributions=there))


def _compared(before: Outcome, after: Outcome, mended: Collection[str]) -> Rejudged:
    """A check that could not see before may see now what stood there all the time: that is not the change's."""
    gravest = min((each.severity.rank for each in before.findings if each.problem.id in mended), default=0)
    known = Counter(each.problem.id for each in before.findings)
    blind = {each.id for each in before.skipped}
    new = []
    for each in after.findings:
        known[each.problem.id] -= 1
        if known[each.problem.id] < 0 and each.problem.id not in {*mended, *blind} and each.severity.rank <= gravest:
            new.append(each)
    return Rejudged(
        tuple(each for each in after.findings if each.problem.id in mended),
        tuple(new),
        (
            *dict.fromkeys(each.reason for each in after.skipped if each.id in mended and each.id not in blind),
            *(each.error for each in after.crashed if each.id in mended),
        ),
    )
