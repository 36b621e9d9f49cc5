"""What the checks say of the facts that logs tell, and how it joins what the failures themselves show.

A finding of a check is the cause where the failure is one that follows from the problem, as its TOML says
(`leads_to`); else it is told as contributing. It rests on lines of a log, never on the machine: `likely` as a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from doctor.base.evidence import AFTER_DEATH, Observations, Observed, Origin
from doctor.base.opened import NotSeen, opened, tellers_asked
from doctor.base.patterns import later
from doctor.base.record import record, replace
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Role
from doctor.catalogue.foretold import foretold
from doctor.catalogue.index import CheckEntry, Entry
from doctor.catalogue.outcome import Crashed, Outcome, crash_of
from doctor.catalogue.problem import ERROR, INFO, OF_TRAINING, WARNING
from doctor.catalogue.problem_files import declared
from doctor.diagnosis.runner import run_checks
from doctor.facts.packages import Packages
from doctor.logs.failures.case import Case
from doctor.logs.told.assumed import OF_ANY_RELEASE, of_today
from doctor.logs.told.context import said_in
from doctor.logs.told.facts import world_of
from doctor.logs.told.pasted import Pasted, model_settings, pasted_in
from doctor.logs.told.said import Said
from doctor.readers.saved import fact_type

#: contributing findings that are told
MOST = 3
_MOST_QUOTES = 3
_TAIL = 100  # last lines of a log, among which those of its metrics are
#: ids of what is said of a log that shows no failure and no end
_BREAKS_OFF = {"UNK003"}
#: metrics of a training, by which it is told that it ran
_METRICS = later(r"""['"](?:loss|train_loss|reward|grad_norm)['"]: ?['"]?-?[\dn]|\bstep:\d+ - """)
#: ranges that hold of the present release, too
_SINCE = later(r">=?\s?[\w.]+\Z")
#: what is told of lines of code and configuration as of all others
_KEPT = ("variable", "package", "python", "command")
_ID = later(r"[A-Z]{3}[0-9]{3,4}(?:/[a-z0-9_]+)?\Z")
#: frames of trainers, by which it is told which of them runs
_TRAINERS = later(r"trl/trainer/(grpo|sft|dpo|rloo|kto|ppo|reward)_trainer\.py")
_SPELLED = {"reward": "Reward"}


def is_id(name: str) -> bool:
    """Whether a word of `leads_to` is the id of a problem, and no pattern."""
    return _ID.match(name) is not None


@record
class Judged:
    """A finding of a check over what logs tell.

    Args:
        finding: with the lines that it rests on.
        firm: every version that the problem depends on is known, and the check says so too where it is not told that
            facts which no log tells were looked for in vain.
        leads_to: patterns and ids of the failures that follow from it.

    """

    finding: Finding
    firm: bool
    leads_to: tuple[str, ...]


def joined(
    findings: Sequence[Finding], case: Case, entries: Mapping[str, Entry], unknown: Iterable[str], *, well: bool
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings of a post-mortem with those of the checks over what its logs tell.

    Args:
        findings: root cause first.
        case: what the logs say.
        entries: the catalogue.
        unknown: ids of the problems that say only that nothing is known.
        well: the run came to a good end.

    """
    try:
        return _joined(tuple(findings), case, entries, set(unknown), well=well)
    except Exception as exc:  # noqa: BLE001 - what failures show is worth more than what is read between them
        return tuple(findings), (crash_of("told", exc),)


def _joined(
    findings: tuple[Finding, ...], case: Case, entries: Mapping[str, Entry], unknown: set[str], *, well: bool
) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    world = world_in(case)
    if well and not findings and not case.pasted:
        return (), ()  # nothing is to be explained, and what would have ended it did not
    findings = tuple(each for each in findings if each.problem.id in unknown or not _of_code(each, case))
    crashed: list[Crashed] = []
    judged = [] if not list(world) else list(_judged(entries.values(), world, crashed, present=case.pasted))
    for each in judged:
        symptoms = _following(each, findings, case)
        if symptoms is not None:
            return _as_cause(each, findings, symptoms, unknown), tuple(crashed)
    there = {each.problem.id for each in findings}
    if case.pasted and not case.failures and all(_says_little(each, unknown) for each in findings):
        shown = _of_pasted(judged, findings, case, well=well)
        if shown is findings and (today := of_today(world)) is not None:
            late = [each for each in entries.values() if each.id in OF_ANY_RELEASE]
            shown = _of_pasted(list(_judged(late, today, crashed, present=True)), findings, case, well=well)
        return shown, tuple(crashed)
    more = [each.finding for each in judged if each.firm and each.finding.problem.id not in there]
    more = [each for each in more if each.severity is ERROR and not (well and each.problem.ends_run)]
    if not findings:
        return tuple(replace(each, confidence=LIKELY) for each in more[:1]), tuple(crashed)
    told = (replace(each, confidence=LIKELY, role=Role.CONTRIBUTING) for each in more[:MOST])
    return (*findings, *told), tuple(crashed)


def _says_little(finding: Finding, unknown: set[str]) -> bool:
    """Whether a finding knows no cause, or is a mere note."""
    return finding.problem.id in unknown or finding.severity is INFO


def _of_code(finding: Finding, case: Case) -> bool:
    """Whether a finding takes a line of code or of configuration for the word of a run."""
    numbers = [each.line for each in finding.evidence]
    return not case.failures and bool(numbers) and all(each in case.pasted_lines for each in numbers)


def _of_pasted(
    judged: Sequence[Judged], findings: tuple[Finding, ...], case: Case, *, well: bool
) -> tuple[Finding, ...]:
    """What is wrong with the pasted code or configuration itself, where its text shows nothing else that is.

    What would have ended a run that printed its metrics is not what ails it.
    """
    lived = well or any(_METRICS.search(text) for kept in case.kept for _, text in kept)
    found = [each.finding for each in judged if each.firm and not (lived and each.finding.problem.ends_run)]
    found = [
        each
        for each in found
        if each.severity is ERROR or (each.severity is WARNING and each.problem.id.startswith(OF_TRAINING))
    ]
    if not found:
        return findings
    found.sort(key=lambda each: each.severity.rank)
    rest = (replace(each, confidence=LIKELY, role=Role.CONTRIBUTING) for each in found[1 : MOST + 1])
    notes = (each for each in findings if each.severity is INFO)
    return (replace(found[0], confidence=LIKELY, role=Role.CAUSE), *rest, *notes)


def world_in(case: Case) -> Observations:
    """All that the logs of a case and its context tell, as facts."""
    if case.world is None:
        case.world = _world_in(case)
    return case.world


def _world_in(case: Case) -> Observations:
    given = case.given
    name = given.names[0] if len(given.names) == 1 else ""
    context = pasted_in(list(enumerate(given.text.splitlines(), 1)), name)
    own = pasted_in(case.kept[0], case.sources[0].path) if len(case.kept) == 1 and case.whole else Pasted()
    said = [each for each in said_in(given) if each.line not in context.taken or each.owner in _KEPT]
    told = [each for each in case.told if each.owner == "variable" or not (each.line in own.taken or _goes_on(each))]
    told += own.said
    said += [each for each in context.said if each.owner != "command"]  # which the context tells itself
    world = world_of((*told, *said), _words(case), case.world_size)
    world.add(*own.observed, *context.observed)
    if any(each.name == "training" for each in (*own.observed, *context.observed)):
        world.add(*model_settings(given.config, name))
    case.pasted, case.pasted_lines = bool(own.taken or context.taken), own.taken
    if case.pasted and "packages" not in world:  # of which a check may ask a default, that nobody said
        world.add(Observed("packages", opened(Packages({}), seen=()), Origin("pasted")))
    saved = given.text.lstrip().startswith("{")  # by a doctor, which lists all variables that the stack reads
    for name, value in given.facts.items():
        known = opened(value) if name == "environment" and not saved else value
        world.add(Observed(name, known, Origin("pasted", given.names[0] if given.names else "")))
    return world


def _goes_on(said: Said) -> bool:
    """Whether a command is only the first line of one."""
    return said.owner == "command" and said.text.rstrip().endswith("\\")


def _words(case: Case) -> str:
    """Where a trainer may be named: the context, and the frames of failures."""
    frames = {frame for failure in case.failures for raised in failure.chain for frame in raised.frames}
    shown = "\n".join(f"{each.key} {each.code}" for each in frames)
    spelled = (f"{_SPELLED.get(each, each.upper())}Trainer" for each in set(_TRAINERS.findall(shown)))
    return "\n".join((case.given.text, shown, *spelled))


def _judged(
    entries: Iterable[Entry], world: Observations, crashed: list[Crashed], *, present: bool
) -> Iterator[Judged]:
    """What each check says that the told facts suffice for.

    With `present` a release that nobody told is taken for one of today, of what was not mended until now.
    """
    told, known = set(world), {name for name in world if world.value(name) is not None}
    for entry in entries:
        checks = tuple([each for each in entry.checks if each.needs <= known and not each.takes.isdisjoint(told)])
        if not checks:
            continue
        affects = {name: range_ for name, range_ in entry.affects.items() if not _unseen(world, name)}
        judged = replace(entry, checks=checks, affects=affects)
        with tellers_asked() as asked:
            outcome = run_checks([judged], world)
        # a check may take for granted that a release of its range is there
        crashed += outcome.crashed if affects == entry.affects else ()
        if not outcome.findings:
            continue
        dated = all(name in affects or (present and _SINCE.match(each)) for name, each in entry.affects.items())
        firm = _headlines(run_checks([judged], _with_unseen(checks, world))) if dated else set()
        for finding in outcome.findings:
            said = finding.words().headline in firm
            words = declared(entry)
            yield Judged(_with_lines(finding, asked), said, (*words.leads_to, *foretold(words.told)))


def _headlines(outcome: Outcome) -> set[str]:
    return {each.words().headline for each in outcome.findings}


def _with_unseen(checks: Iterable[CheckEntry], world: Observations) -> Observations:
    """The world where the facts that nobody told are there, and nothing of them was seen.

    A check takes a fact that it can do without as None, which before a launch means that there is none.
    """
    filled = Observations(believed=AFTER_DEATH)
    for name in {fact for each in checks for fact, _ in each.facts.values()}:
        value = world.value(name)
        blank: Any = fact_type(name)
        filled.add(Observed(name, opened(object.__new__(blank), seen=()) if value is None else value))
    return filled


def _unseen(world: Observations, name: str) -> bool:
    """Whether nobody told if a distribution is installed, and which."""
    packages = world.value("packages")
    if packages is None:
        return True
    try:
        return packages.version(name) is None and packages.has(name) is not False
    except NotSeen:
        return True


def _with_lines(finding: Finding, asked: Iterable[Observed]) -> Finding:
    """The finding with the lines that it rests on: of what its headline names, else those that it quotes itself."""
    headline = finding.words().headline
    lines = [each for each in asked if each.text and each.origin.line is not None]
    named = [each for each in lines if each.name and each.name.rpartition(".")[2] in headline]
    named = named or [each for each in finding.evidence if each.text and each.origin.line is not None] or lines
    quotes = tuple(Observed.quoted(each.origin.source, each.text, each.origin.line) for each in named)
    quotes = tuple(dict.fromkeys(quotes))[:_MOST_QUOTES]
    evidence = quotes or finding.evidence
    where = finding.where
    if where.file is None and quotes:
        where = replace(where, file=quotes[0].source or None, line=quotes[0].line)
    exact = bool(named) and all(each.exact for each in named)
    sure = finding.confidence if exact else LIKELY
    return replace(finding, where=where, evidence=evidence, confidence=sure)


def _following(each: Judged, findings: Sequence[Finding], case: Case) -> set[str] | None:
    """Ids of the findings that follow from it; None where the failure is none that it leads to.

    A log that breaks off follows from what lets a run wait for ever only where the run made no step.
    """
    ids = set(filter(is_id, each.leads_to)) - (_BREAKS_OFF if _has_lived(case) else set())
    patterns = [re.compile(pattern) for pattern in each.leads_to if not is_id(pattern)]
    met = {finding.problem.id for finding in findings[:1] if finding.problem.id in ids}
    for finding in findings:
        if any(pattern.search(quote.text) for pattern in patterns for quote in finding.evidence):
            met.add(finding.problem.id)
    if met:
        return met
    raised = [f"{one.type}: {one.message}" for failure in case.failures for one in failure.chain]
    ends = [text for kept in case.kept for _, text in kept[-_TAIL:]]
    return set() if any(pattern.search(text) for pattern in patterns for text in (*raised, *ends)) else None


def _has_lived(case: Case) -> bool:
    return case.marks.steps is not None or any(_METRICS.search(text) for kept in case.kept for _, text in kept)


def _as_cause(each: Judged, findings: Sequence[Finding], symptoms: set[str], unknown: set[str]) -> tuple[Finding, ...]:
    """The check's finding first, with the words of what it leads to; an unknown is none any more."""
    own = each.finding
    quotes = [quote for finding in findings if finding.problem.id in symptoms for quote in finding.evidence[:1]]
    evidence = tuple(dict.fromkeys((*own.evidence, *quotes)))
    sure = own.confidence if own.confidence is CONFIRMED and each.firm else LIKELY
    first = replace(own, role=Role.CAUSE, confidence=sure, evidence=evidence)
    rest = []
    for finding in findings:
        if finding.problem.id == own.problem.id or finding.problem.id in unknown:
            continue
        role = Role.SYMPTOM if finding.problem.id in symptoms else finding.role
        rest.append(replace(finding, role=Role.CONTRIBUTING if role is Role.CAUSE else role))
    return (first, *rest)
