"""Tries the remedies of a report before it is printed: made on a copy of the inputs, all together, and judged again.

A command whose problem stands there still, or that leads into a new error, is withdrawn. What cannot be made on a copy
(a build, a value that the user chooses) is untried and stays: nothing is known against it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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

#: seconds of processor time that the search for the one that fails may take, after all were tried together
LIMIT_S = 1.0
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
    one by one, and then one after another on top of those before it, as far as the time goes. What was not reached by
    then stays.
    """
    findings = judged.outcome.findings
    firsts = _firsts(judged)
    if not firsts or _is_mended(judged, firsts):
        return findings, ()
    until = time.process_time() + limit_s
    failed: dict[int, dict[str, Sentence]] = {}
    for at, finding in enumerate(findings):
        for command in finding.commands:
            if time.process_time() > until:
                break
            trial = tried(command, finding, judged)
            if trial.result == "fails":
                failed.setdefault(at, {})[command] = _sentence(trial)
    for at, command, why in _clashes(judged, failed, until):
        failed.setdefault(at, {})[command] = why
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


def _clashes(
    judged: Judged, failed: Mapping[int, Mapping[str, Sentence]], until: float
) -> Iterator[tuple[int, str, Sentence]]:
    """Commands that spoil what those before them mend, or are spoilt by them: place of the finding, command, words.

    Each of them mends alone: two settings that have to agree may both be changed to agree with the other's old value.
    What installs a package comes last, since what is new under another release is not held against anything.
    """
    accepted: list[tuple[Finding, str]] = []
    before: frozenset[str] = frozenset()
    in_order = sorted(enumerate(judged.outcome.findings), key=lambda each: any(map(_installs, each[1].commands[:1])))
    for at, finding in in_order:
        for command in finding.commands:
            if time.process_time() > until:
                return
            if command in failed.get(at, {}) or not _can_be_made(judged, finding, command):
                continue
            together = _together(judged, [*accepted, (finding, command)])
            if together is None:
                break
            spoilt = together - before
            if spoilt:
                alone = _together(judged, [(finding, command)]) or frozenset()
                spoilt -= alone - {each.problem.id for each, _ in accepted}
            if spoilt and _only_renames(judged, finding, command):  # what stood behind a misspelt name is not held
                spoilt &= {each.problem.id for each, _ in (*accepted, (finding, command))}
            if not spoilt:
                accepted.append((finding, command))
                before = together
                break
            yield at, command, _spoils(command, min(spoilt))


def _spoils(command: str, other: str) -> Sentence:
    return Sentence(
        f"`{command}` does not go together with the fixes of the other problems: all applied, {other} is found. "
        "Apply those first, then check again.",
        f"`{command}` 与其他问题的修复不能同时使用:全部应用后会出现 {other}。请先应用其他修复,再重新检查。",
    )


def _can_be_made(judged: Judged, finding: Finding, command: str) -> bool:
    draft = SupposedInputs(judged.collector)
    try:
        _refuse_blind(command, finding, judged)
        _make(draft, command, finding)
        draft.supposed()
    except Untried:
        return False
    return True


def _only_renames(judged: Judged, finding: Finding, command: str) -> bool:
    draft = SupposedInputs(judged.collector)
    return _make(draft, command, finding) == draft.renamed > 0


def _firsts(judged: Judged) -> list[tuple[Finding, str]]:
    """The findings whose first command can be made on a copy, with that."""
    firsts = ((finding, finding.commands[0]) for finding in judged.outcome.findings if finding.commands)
    return [each for each in firsts if _can_be_made(judged, *each)]


def _make(draft: SupposedInputs, command: str, finding: Finding) -> int:
    """Make on a copy what a command orders; how many changes that are."""
    changes = changes_of(command)
    for change in changes:
        draft.make(change, finding)
    return len(changes)


def _is_mended(judged: Judged, ordered: list[tuple[Finding, str]]) -> bool:
    """Whether nothing is left or new after all commands, nor after those that install nothing."""
    kept = [each for each in ordered if not _installs(each[1])]
    both = (ordered, kept) if kept and len(kept) < len(ordered) else (ordered,)
    return all(_together(judged, each) == frozenset() for each in both)


def _installs(command: str) -> bool:
    return any(each.input.kind == "package" for each in changes_of(command))


def _together(judged: Judged, ordered: Iterable[tuple[Finding, str]]) -> frozenset[str] | None:
    """The problems that are left or new where some findings' commands are carried out together.

    None where they do not fit into one copy.
    """
    draft, count = SupposedInputs(judged.collector), 0
    mended: Counter[str] = Counter()
    try:
        for finding, command in ordered:
            mended[finding.problem.id] += 1
            count += _make(draft, command, finding)
        supposed = draft.supposed()
    except Untried:
        return None
    verdict = rejudge(judged.entries, judged.outcome, judged.collector, supposed, list(mended))
    before = Counter(each.problem.id for each in judged.outcome.findings)
    left = Counter(each.problem.id for each in verdict.left)
    kept = {name for name, count in mended.items() if left[name] > before[name] - count}
    if supposed.versions or draft.renamed == count:
        return frozenset(kept)  # what pip brings along is not known; what stood behind a misspelt name is not held
    return frozenset(kept | {each.problem.id for each in verdict.new})


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
