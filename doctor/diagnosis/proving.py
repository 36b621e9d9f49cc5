"""Tries the remedies of a report before it is printed: made on a copy of the inputs, all together, and judged again.

A command whose problem stands there still, or that leads into a new error, is withdrawn. What cannot be made on a copy
(a build, a value that the user chooses) is untried and stays: nothing is known against it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from doctor.base.fact import world_of
from doctor.base.record import record, replace
from doctor.catalogue.changes import changes_of
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.diagnosis import installable
from doctor.diagnosis.offers import Judged
from doctor.diagnosis.rejudge import Rejudged, Supposed, rejudge
from doctor.diagnosis.remedies import Sentence, Withdrawn, without
from doctor.diagnosis.runner import run_checks
from doctor.diagnosis.situation import situation_of
from doctor.diagnosis.supposing import SupposedInputs, Untried
from doctor.readers.collector import about_command, about_elsewhere

#: seconds that the search for the one that fails may take, after all were tried together
LIMIT_S = 0.5
#: facts of the machine that also depend on variables, or on what the command says, and that stay as they were seen
_STAY_ON_VARIABLES = frozenset({"cuda", "host", "hub", "network", "node", "ray_cluster", "nvidia", "interpreter",
                                "collectives", "deep", "commands", "gpus", "framework_words"})  # fmt: skip
_STAY_ON_SETTINGS = frozenset({"host", "network", "node", "collectives", "deep", "commands", "framework_words"})
_STAY_ON_PACKAGES = frozenset({"cuda", "deep", "choices", "interpreter", "framework_words"})

Result = Literal["mends", "fails", "untried"]


@record
class Trial:
    """What became of one command when it was carried out on a copy.

    Args:
        finding: that prints it.
        command: as printed.
        result: whether it mends the problem, fails, or cannot be tried.
        why: what is left or new, or what stands against a trial.

    """

    finding: Finding
    command: str
    result: Result
    why: str = ""


def proven(judged: Judged, limit_s: float = LIMIT_S) -> tuple[tuple[Finding, ...], tuple[Withdrawn, ...]]:
    """The findings without the commands that do not mend them.

    All first commands are tried together, in one judgement; only where something is left or new are the commands tried
    one by one, as far as the time goes. What was not reached by then stays.
    """
    findings = judged.outcome.findings
    firsts = _firsts(judged)
    if not firsts or _together(judged, firsts):
        return findings, ()
    until = time.monotonic() + limit_s
    failed: dict[int, dict[str, Sentence]] = {}
    for at, finding in enumerate(findings):
        for command in finding.commands:
            if time.monotonic() > until:
                break
            trial = tried(command, finding, judged)
            if trial.result == "fails":
                failed.setdefault(at, {})[command] = _sentence(trial)
    situation = situation_of(judged.collector.states)
    kept = tuple(without(each, failed[at], situation) if at in failed else each for at, each in enumerate(findings))
    gone = (
        Withdrawn(findings[at].problem.id, command, why)
        for at, reasons in failed.items()
        for command, why in reasons.items()
    )
    return kept, tuple(gone)


def tried(command: str, finding: Finding, judged: Judged) -> Trial:
    """Carry one command out on a copy and judge that."""
    try:
        _refuse_blind(command, finding, judged)
        draft = SupposedInputs(judged.collector)
        count = _make(draft, command, finding)
        supposed = draft.supposed()
    except Untried as reason:
        return Trial(finding, command, "untried", str(reason))
    verdict = rejudge(judged.entries, judged.outcome, judged.collector, supposed, [finding.problem.id])
    if draft.renamed == count:
        verdict = replace(verdict, new=())  # nothing else is computed: what is found now stood behind it all the time
    return _trial(command, finding, judged, supposed, verdict)


def _trial(command: str, finding: Finding, judged: Judged, supposed: Supposed, verdict: Rejudged) -> Trial:
    if verdict.unseen:
        return Trial(finding, command, "untried", verdict.unseen[0])
    before = sum(each.problem.id == finding.problem.id for each in judged.outcome.findings)
    if len(verdict.left) >= before:
        if supposed.versions and not _sensitive(finding, judged, supposed.versions):
            return Trial(finding, command, "untried", "no release of the package makes a difference to the check")
        return Trial(finding, command, "fails")
    if verdict.new and not supposed.versions:  # what pip brings along is not known
        return Trial(finding, command, "fails", verdict.new[0].problem.id)
    return Trial(finding, command, "mends", ", ".join(dict.fromkeys(each.problem.id for each in verdict.new)))


def _sentence(trial: Trial) -> Sentence:
    command, other = trial.command, trial.why
    if other:
        return Sentence(
            f"`{command}` leads to {other} here, as was tried on a copy of the inputs.",
            f"在输入的副本上试过,`{command}` 在这里会引出 {other}。",
        )
    return Sentence(
        f"`{command}` alone does not fix it: this was tested on a copy of the inputs.",
        f"在输入的副本上试过,仅用 `{command}` 不能解决这个问题。",
    )


def _firsts(judged: Judged) -> list[Finding]:
    """The findings whose first command can be made on a copy."""
    possible = []
    for finding in judged.outcome.findings:
        for command in finding.commands[:1]:
            try:
                _refuse_blind(command, finding, judged)
                _make(SupposedInputs(judged.collector), command, finding)
            except Untried:
                continue
            possible.append(finding)
    return possible


def _make(draft: SupposedInputs, command: str, finding: Finding) -> int:
    """Make on a copy what a command orders; how many changes that are."""
    changes = changes_of(command)
    for change in changes:
        draft.make(change, finding)
    return len(changes)


def _together(judged: Judged, ordered: Iterable[Finding]) -> bool:
    """Whether the first commands of some findings, carried out together, mend these, and nothing new stands there."""
    draft, count = SupposedInputs(judged.collector), 0
    mended: Counter[str] = Counter()
    try:
        for finding in ordered:
            mended[finding.problem.id] += 1
            count += _make(draft, finding.commands[0], finding)
        supposed = draft.supposed()
    except Untried:
        return False  # they do not fit into one copy: one by one, then
    verdict = rejudge(judged.entries, judged.outcome, judged.collector, supposed, list(mended))
    before = Counter(each.problem.id for each in judged.outcome.findings)
    left = Counter(each.problem.id for each in verdict.left)
    new = verdict.new and not (supposed.versions or draft.renamed == count)
    return not new and all(left[name] <= before[name] - count for name, count in mended.items())


def _refuse_blind(command: str, finding: Finding, judged: Judged) -> None:
    """Refuse a trial that could show nothing.

    Raises:
        Untried: the command changes no input, or what the check judges stays as it was seen.

    """
    changes = changes_of(command)
    if not changes:
        msg = "it changes no input that is read"
        raise Untried(msg)
    entry = _entry(finding, judged.entries)
    if entry is None or not entry.checks:
        msg = "no check finds the problem"
        raise Untried(msg)
    facts = {name for check in entry.checks for name, _ in check.facts.values()}
    kinds = {each.input.kind for each in changes}
    stay: set[str] = set()
    if "variable" in kinds:
        stay |= _STAY_ON_VARIABLES
    if kinds & {"setting", "launch"}:
        stay |= _STAY_ON_SETTINGS
    if "package" in kinds:
        stay |= _STAY_ON_PACKAGES
    stay |= {name for name in facts if about_elsewhere(name)}
    given = {name for name in facts & judged.collector.given.keys() if kinds - {"package"} and about_command(name)}
    if seen := sorted((facts & stay) | given):
        msg = f"`{seen[0]}` stays as it was seen"
        raise Untried(msg)


def _entry(finding: Finding, entries: Iterable[Entry]) -> Entry | None:
    return next((each for each in entries if each.id == finding.problem.id), None)


def _sensitive(finding: Finding, judged: Judged, versions: Mapping[str, str | None]) -> bool:
    """Whether the check would say something else with another release of what was installed."""
    entry = _entry(finding, judged.entries)
    state = judged.collector.states.get("packages")
    if entry is None or state is None or state.status != "ok":
        return False
    for name in versions:
        known = installable.releases_in(name, "") or ()
        for version in (*known[:1], *known[-1:]):
            there = dict(state.value.distributions)
            if name in there:
                there[name] = replace(there[name], version=version)
            packages = replace(state, value=replace(state.value, distributions=there))
            if not run_checks([entry], world_of({**judged.collector.states, "packages": packages})).findings:
                return True
    return False
