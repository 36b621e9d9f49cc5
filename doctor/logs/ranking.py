"""From hits and failures to findings: what went wrong first, what followed from it, what helped it along."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from doctor.core.finding import LIKELY, Finding, Role
from doctor.core.index import Entry
from doctor.core.outcome import Crashed
from doctor.core.problem import INFO
from doctor.core.signature import Hit, Hits
from doctor.core.unknown import Unknown
from doctor.logs import unknown, wrapped
from doctor.logs.case import Case
from doctor.logs.catalogue import Catalogue, in_range, is_victims_word, words_of
from doctor.logs.exits import Exit
from doctor.logs.matcher import Compiled
from doctor.logs.nature import EMPTY, NOTES
from doctor.logs.quotes import Quotes
from doctor.logs.retries import ended, says_the_same, was_retried
from doctor.logs.roots import recorded
from doctor.logs.shortened import begins_like
from doctor.logs.survived import is_slip, last_ends, later_end, survived
from doctor.logs.tracebacks import Failure
from doctor.logs.victims import failed_by_itself

_QUIET_LINES = 30  # a process that prints that much after an exception got over it
_CHAIN_MOST, _EXITS_MOST = 64, 200
_LAUNCHERS = frozenset({"ChildFailedError", "CalledProcessError"})  # they only sum up what the exits tell
_PARAGRAPHS = 25  # lines behind an exception that still belong to what it says
Key = tuple[int, int, int]


@dataclass(frozen=True)
class Link:
    """One step of the chain of consequences.

    `what`: "raised", "lost" (another process), "waited" (in vain), "ended" (exit code), "signal", "closed" (by the
    launcher). `alike`: how many more processes did the same, where there are too many to tell each.
    """

    what: str
    role: str
    process: str
    rank: int | None
    file: str
    line: int
    time_ns: int | None
    detail: str
    alike: int = 0


@dataclass(frozen=True)
class Ranked:
    """Findings, root cause first; the verdict; the chain of consequences; our own crashes."""

    findings: tuple[Finding, ...]
    verdict: str
    chain: tuple[Link, ...] = ()
    crashed: tuple[Crashed, ...] = ()


@dataclass
class _Candidate:
    """A problem that signatures recognised."""

    finding: Finding
    signatures: list[Compiled]
    hits: Hits
    key: Key
    inside: Failure | None
    roles: set[str] = field(default_factory=set)
    doubtful: bool = False  # its words may be those of a program that the run executed

    @property
    def id(self) -> str:
        return self.finding.problem.id

    @property
    def victim(self) -> bool:
        return all(is_victims_word(each) for each in self.signatures)

    @property
    def fatal(self) -> bool:
        return any(each.signature.kind == "error" for each in self.signatures)

    def names(self, others: Iterable[_Candidate], attribute: str) -> bool:
        """Whether one of its signatures names one of some problems, or its area, in `attribute`.

        Where two problems name each other's area, or one names the other by its id, the area says nothing.
        """
        mine = self.wanted(attribute)
        for other in others:
            if other.id == self.id:
                continue
            back = other.wanted(attribute)
            if other.id in mine or (other.id[:3] in mine and not back & {self.id, self.id[:3]}):
                return True
        return False

    def wanted(self, attribute: str) -> set[str]:
        """Ids and areas that its signatures name in `attribute`."""
        return {name for each in self.signatures for name in getattr(each.signature, attribute)}


def rank(
    case: Case,
    hits: Sequence[tuple[int, Hit]],
    counts: dict[int, int],
    catalogue: Catalogue,
    live: Sequence[Finding] = (),
) -> Ranked:
    """Judge a case.

    Args:
        case: what the logs say.
        hits: (position of the signature in the catalogue, hit).
        counts: how many hits of each signature there were.
        catalogue: the signatures, and the problems that answer for what they do not know.
        live: findings of the live-series rules over the metrics in the logs.

    """
    crashed: list[Crashed] = []
    unbroken = wrapped.hits_in(case, catalogue, counts)
    hits, counts = [*hits, *unbroken], {**dict.fromkeys((index for index, _ in unbroken), 1), **counts}
    quotes = Quotes(case, [hit for _, hit in hits])
    hits = [(index, hit) for index, hit in hits if not quotes.hit(hit)]
    case.exits = [each for each in case.exits if not quotes.exit(each)]
    notes = {place for place, nature in case.natures.items() if nature == NOTES}
    if notes and len(notes) == len(case.sources):
        told = _candidates(case, hits, counts, catalogue, crashed)
        return Ranked(tuple(_of_notes(case, told, catalogue)), "unknown", (), tuple(crashed))
    hits = [(index, hit) for index, hit in hits if _source(case, hit) not in notes]
    case.failures = [each for each in case.failures if each.first.source not in notes]
    candidates = [_doubted(case, each, quotes) for each in _candidates(case, hits, counts, catalogue, crashed)]
    failures = [each for each in case.failures if not _is_noise(case, each) and not quotes.failure(each)]
    failures = _without_warned(case, failures, candidates)
    lost = _words_of_loss(case, candidates)
    own: list[Failure] = []
    victims: list[Failure] = []
    for each in failures:
        (own if failed_by_itself(each) and not _lost_another(lost, each) else victims).append(each)
    if not failures and not any(_bad(case, each) for each in case.exits):
        candidates = [each for each in candidates if not each.fatal or not _got_through(case, each, quotes)]
        _doubt_what_went_on(case, candidates)
    first, split = _sorted_out(case, candidates, own, victims, catalogue, live)
    findings = [*first, *split.findings(live, known=not first)]
    verdict = "unknown" if first else "known" if findings else "healthy"
    return Ranked(tuple(findings), verdict, _chain(case, own, victims, verdict), tuple(crashed))


def _of_notes(case: Case, told: Sequence[_Candidate], catalogue: Catalogue) -> list[Finding]:
    """A text about many problems has no cause; what it shows is named in its order."""
    first = _answers(unknown.of_silence(case), tuple(catalogue.entries.values()))
    shown = sorted(told, key=lambda each: each.key)
    return [*first, *(replace(each.finding, role=Role.CONTRIBUTING, confidence=LIKELY) for each in shown)]


@dataclass
class _Split:
    """Recognised problems by what they are to the failure, each the most telling first."""

    causes: list[_Candidate]
    helpers: list[_Candidate]
    symptoms: list[_Candidate]
    unknown: list[Finding] = field(default_factory=list)  # the end that a cause came before, but does not show itself

    @property
    def all(self) -> list[_Candidate]:
        return [*self.causes, *self.helpers, *self.symptoms]

    def findings(self, live: Sequence[Finding], *, known: bool) -> list[Finding]:
        """All of them with their roles; what the metrics show is the cause where nothing ended the run."""
        causes = [each.finding for each in self.causes]
        helpers = [each.finding for each in self.helpers]
        if not causes and known:
            causes, live = list(live), ()
        if not causes and known:
            causes, helpers = helpers, []
        return [
            *(_unless_symptom(each, Role.CONTRIBUTING) if number else each for number, each in enumerate(causes)),
            *(_unless_symptom(each, Role.CONTRIBUTING) for each in (*live, *helpers)),
            *(replace(each.finding, role=Role.SYMPTOM) for each in self.symptoms),
            *self.unknown,
        ]


def _unless_symptom(finding: Finding, role: Role) -> Finding:
    """The finding in a role, but for one that the rules over the metrics know to be a consequence."""
    return finding if finding.role is Role.SYMPTOM else replace(finding, role=role)


def _sorted_out(
    case: Case,
    candidates: list[_Candidate],
    own: list[Failure],
    victims: list[Failure],
    catalogue: Catalogue,
    live: Sequence[Finding],
) -> tuple[list[Finding], _Split]:
    """(what is said where no known problem is the cause, known problems by role)."""
    split = _roles(candidates, live)
    entries = tuple(catalogue.entries.values())
    primary = _primary(case, own)
    if primary is not None:
        _weigh(case, split, primary)
    if primary is not None:
        _doubt_lines_before(case, split, primary)
        _doubt_what_was_caught(case, split, primary)
    first: list[Finding] = []
    measured = [each for each in split.symptoms if _follows(each, live)]
    if primary is not None and not (
        any(_explains(case, each, primary) for each in split.causes)
        or any(_within(case, each, primary) for each in (*measured, *_named_by_id(split)))
    ):
        begins = begins_like(primary.cause.type, primary.cause.message, catalogue.signatures)
        first = _answers(replace(unknown.of_failure(case, primary), begins=begins), entries)
        split.helpers, split.causes = [*split.helpers, *split.causes], []
    elif primary is None and not split.causes and (not split.symptoms or _silent_ends(case, victims, split.symptoms)):
        first = _without_cause(case, victims, split.symptoms, entries, silent=not _tell_the_end(split, live))
    if not first and not split.causes and split.symptoms and not measured:
        split.causes, split.symptoms = split.symptoms[:1], split.symptoms[1:]  # nobody said anything better
    if primary is not None and not first:
        split.unknown = [
            replace(each, role=Role.SYMPTOM)
            for end in _unknown_ends(case, split, primary)
            for each in _answers(unknown.of_failure(case, end), entries)
        ]
    return first, split


def _doubt_lines_before(case: Case, split: _Split, primary: Failure) -> None:
    """A mere line before a failure that says something else proves nothing: that it came first is all that is known.

    Where a problem that the failure itself shows is a known consequence of it, it is proven all the same.
    """
    shown = {name for each in split.all if _within(case, each, primary) for name in each.wanted("symptom_of")}
    for each in split.causes:
        alone = all(case.failure_at(_source(case, hit), hit.line, hit.process) is None for hit in each.hits)
        if alone and not shown & {each.id, each.id[:3], "*"} and not _within(case, each, primary):
            each.finding = replace(each.finding, confidence=LIKELY)


def _doubt_what_was_caught(case: Case, split: _Split, primary: Failure) -> None:
    """What a program may have caught is likely at most where another failure ended it."""
    root = recorded(case)
    for each in (*split.causes, *split.helpers):
        inside = [one for hit in each.hits if (one := _failure_of(case, hit)) is not None]
        if root is not None and any(one.cause.type == root.cause.type for one in inside):
            continue
        ends = [primary if survived(case, one, primary) else later_end(case, one) for one in inside]
        mixed = [one.mixed for one in inside]
        if inside and (all(mixed) or all(end is not None and not _within(case, each, end) for end in ends)):
            each.finding = replace(each.finding, confidence=LIKELY)


def _unknown_ends(case: Case, split: _Split, primary: Failure) -> list[Failure]:
    """What ended the process of the first failure, where nothing known is said in it; one at most."""
    end = later_end(case, primary) or (primary if ended(primary) else None)
    if end is None or not failed_by_itself(end) or any(_shows(case, each, end) for each in split.all):
        return []
    return [end]


def _doubt_what_went_on(case: Case, candidates: Sequence[_Candidate]) -> None:
    """Where nothing failed, what the run got a step further than is likely at most."""
    for each in candidates:
        if each.fatal and all(_steps_after(case, _source(case, hit), hit.line) for hit in each.hits):
            each.finding = replace(each.finding, confidence=LIKELY)


def _named_by_id(split: _Split) -> list[_Candidate]:
    """Symptoms that name one of the causes itself, not just its area: wherever it stands, it explains them."""
    causes = {each.id for each in split.causes}
    return [each for each in split.symptoms if each.wanted("symptom_of") & causes]


def _words_of_loss(case: Case, candidates: Sequence[_Candidate]) -> dict[int, list[int]]:
    """Source -> lines with words that a signature knows as those of a process that another one took down."""
    found: dict[int, list[int]] = {}
    for candidate in candidates:
        for hit in candidate.hits if candidate.victim else ():
            found.setdefault(_source(case, hit), []).append(hit.line)
    return found


def _lost_another(lost: Mapping[int, Sequence[int]], failure: Failure) -> bool:
    """Whether a failure says itself that another process took it down."""
    low, high = sorted((failure.cause.line.number, failure.cause.last_line))
    return any(low <= line <= high for line in lost.get(failure.first.source, ()))


def _follows(candidate: _Candidate, live: Sequence[Finding]) -> bool:
    """Whether the metrics show what it is a consequence of."""
    return bool(candidate.wanted("symptom_of") & {each.problem.id for each in live})


def _got_through(case: Case, candidate: _Candidate, quotes: Quotes) -> bool:
    """Whether nothing came of an error: it was a warning, may be a quotation, or the process went on for long."""
    return all(
        hit.level in _QUIET_LEVELS or quotes.doubtful(hit) or _went_on(case, _source(case, hit), hit)
        for hit in candidate.hits
    )


def _doubted(case: Case, candidate: _Candidate, quotes: Quotes) -> _Candidate:
    """The same, likely at most where all that speaks for it may be quoted, or is raised by the user's own code."""
    candidate.doubtful = all(quotes.doubtful(each) for each in candidate.hits)
    unsure = all(quotes.unsure(each) for each in candidate.hits)
    if unsure or all(_raised_by_user(case, each) for each in candidate.hits):
        candidate.finding = replace(candidate.finding, confidence=LIKELY)
    return candidate


def _raised_by_user(case: Case, hit: Hit) -> bool:
    """Whether a statement of the user's own code raised it: a library's words prove nothing there."""
    source = _source(case, hit)
    failure = case.failure_at(source, hit.line, hit.process)
    raised = failure.raised_at(hit.line, hit.text) if failure is not None else None
    if raised is None or not raised.frames:
        return False
    last = raised.frames[-1]
    return last.own and last.code.startswith("raise ")


_QUIET_LEVELS, _TOLD_LEVELS = frozenset("WID"), frozenset("ID")


def _weigh(case: Case, split: _Split, primary: Failure) -> None:
    """Put what the failure itself says before what was said elsewhere; mere warnings elsewhere were got over."""
    within = [each for each in (*split.causes, *split.helpers) if _within(case, each, primary)]
    outside = [each for each in split.causes if each not in within]
    quiet = [each for each in outside if within and all(hit.level in _QUIET_LEVELS for hit in each.hits)]
    # what only spoils other runs ended this one, where its words are those of the failure
    split.helpers = [each for each in split.helpers if each not in within]
    split.causes = [*within, *(each for each in outside if each not in quiet)]
    split.causes.sort(key=lambda each: each.finding.confidence.value != "confirmed")


# hits to candidates -----------------------------------------------------------------------------------------------


def _candidates(case: Case, hits: Sequence[tuple[int, Hit]], counts: dict[int, int], catalogue: Catalogue,
                crashed: list[Crashed]) -> list[_Candidate]:  # fmt: skip
    versions = case.versions
    by_problem: dict[str, list[tuple[int, Hit]]] = {}
    possible: dict[int, bool] = {}  # signature -> whether the versions allow it
    for index, hit in hits:
        declared = catalogue.signatures[index]
        if index not in possible:
            affects = {**catalogue.entries[declared.problem_id].affects, **declared.signature.affects}
            possible[index] = in_range(affects, versions)
        if possible[index] and _counts(case, declared, hit):
            by_problem.setdefault(declared.problem_id, []).append((index, hit))
    found = []
    for problem_id, group in by_problem.items():
        try:
            candidate = _candidate(case, problem_id, group, counts, catalogue)
        except Exception as exc:  # noqa: BLE001 - a bug of ours in one problem's file is a result
            crashed.append(Crashed(problem_id, f"{type(exc).__name__}: {exc}", traceback.format_exc()))
            continue
        if candidate is not None:
            found.append(candidate)
    return found


def _counts(case: Case, declared: Compiled, hit: Hit) -> bool:
    """Whether a hit may speak: right frames, not the noise of an end, not something the run got over."""
    signature = declared.signature
    source = _source(case, hit)
    failure = case.failure_at(source, hit.line, hit.process)
    if signature.frame and not _raised_below(signature.frame, hit, own_code=signature.own_code):
        return False
    if signature.kind != "error":
        return True
    if failure is not None and failure.noise:
        return False
    success, order = case.marks.success, case.order_of(source, hit.line)
    if (
        success is not None
        and success.source == source
        and success.order > order
        and not _failed_later(case, success.order)
    ):
        return False
    asked = case.marks.asked
    return not (is_victims_word(declared) and asked is not None and asked.source == source and asked.order < order)


def _raised_below(pattern: str, hit: Hit, *, own_code: bool) -> bool:
    """Whether a frame is the pattern's, and code that runs below it is no user's, unless that counts as well.

    Libraries call reward functions, callbacks, hooks and collators: what these raise says nothing of the library.
    """
    for each in reversed(hit.frames):
        if re.search(pattern, each):
            return True
        if not own_code and each in hit.own:
            return False
    return False


def _failed_later(case: Case, order: int) -> bool:
    return any(each.first.order > order and not each.noise and failed_by_itself(each) for each in case.failures)


def _source(case: Case, hit: Hit) -> int:
    return case.source_of(hit.file)


def _candidate(case: Case, problem_id: str, group: list[tuple[int, Hit]], counts: dict[int, int],
               catalogue: Catalogue) -> _Candidate | None:  # fmt: skip
    declared = {index: catalogue.signatures[index] for index, _ in group}
    main = [each for each in declared.values() if each.signature.kind != "sign"]
    if not main:
        return None
    ordered = sorted(group, key=lambda each: case.key(_source(case, each[1]), each[1].line))
    # what ends runs comes before what only supports it, so that `first` captures what the words need
    ordered.sort(key=lambda each: catalogue.signatures[each[0]].signature.kind == "sign")
    kept = tuple(replace(hit, signature=catalogue.signatures[index].index) for index, hit in ordered)
    total = sum(counts.get(index, 0) for index, each in declared.items() if each.signature.kind != "sign")
    hits = Hits(
        kept, max(total, 1), case.versions, case.config, case.world_size, case.given.facts, case.given.text,
    )  # fmt: skip
    finding = words_of(catalogue.module(problem_id), hits, main[0].signature)
    if finding is None:
        return None
    first = kept[0]
    source = _source(case, first)
    inside = case.failure_at(source, first.line, first.process)
    return _Candidate(finding, main, hits, case.key(source, first.line), inside)


# roles ------------------------------------------------------------------------------------------------------------


def _roles(candidates: list[_Candidate], live: Sequence[Finding] = ()) -> _Split:
    """Split by role, each the earliest first, proven ones before likely ones."""
    fatal = [each for each in candidates if each.fatal]
    causes, symptoms, helpers = [], [], []
    for each in sorted(candidates, key=lambda each: (each.finding.confidence.value != "confirmed", each.key)):
        if each.victim or each.names(candidates, "symptom_of") or _follows(each, live):
            symptoms.append(each)
        elif not each.fatal or each.names(fatal, "contributes_to"):
            helpers.append(each)
        else:
            causes.append(each)
    symptoms.sort(key=lambda each: each.key)
    return _Split(causes, helpers, symptoms)


#: said by wandb's thread when its service ends with the run, and by conda's shell function; scripts go on after it
_OF_OTHERS = frozenset({"MessageRouterClosedError", "CondaError"})


def _is_noise(case: Case, failure: Failure) -> bool:
    """Whether a failure says nothing: a destructor's, a warning's, one that the run got over, one of a wanted end."""
    if failure.noise or failure.handled or failure.end.name in _OF_OTHERS:
        return True
    marks, first = case.marks, failure.first
    if marks.asked is not None and marks.asked.source == first.source and marks.asked.order < first.order:
        return not failed_by_itself(failure)
    success = marks.success
    return success is not None and success.source == first.source and success.order > first.order


def _primary(case: Case, own: list[Failure]) -> Failure | None:
    """The first failure of its own that a process did not get over."""
    if not own:
        return None
    fatal = [each for each in own if not case.marks.went_on(each.first)] or own
    ends = last_ends(own)
    fatal = [each for each in fatal if not any(survived(case, each, end) for end in ends)] or fatal
    fatal = [
        each
        for each in fatal
        if not (_got_over(case, each) and _steps_after(case, each.first.source, each.first.number))
    ] or fatal
    fatal = [
        each for each in fatal if not (each.caught and _steps_after(case, each.first.source, each.first.number))
    ] or fatal
    fatal = [each for each in fatal if not each.thread] or fatal  # a thread's end is not the process's
    fatal = [each for each in fatal if not was_retried(case, each)] or fatal
    root = recorded(case)
    fatal = [each for each in fatal if root is not None and each.cause.type == root.cause.type] or fatal
    return min(fatal, key=lambda each: case.key(each.first.source, each.first.number))


def _within(case: Case, candidate: _Candidate, failure: Failure) -> bool:
    """Whether a recognised problem's words stand in a failure, or in the paragraphs of its message that follow."""
    return any(_belongs(case, hit, failure) for hit in candidate.hits)


def _shows(case: Case, candidate: _Candidate, failure: Failure) -> bool:
    """Whether its words stand in a failure, or in one that says the same."""
    inside = (_failure_of(case, hit) for hit in candidate.hits)
    alike = (one is not None and says_the_same(one.cause, failure.cause) for one in inside)
    return _within(case, candidate, failure) or any(alike)


def _belongs(case: Case, hit: Hit, failure: Failure) -> bool:
    source = _source(case, hit)
    if source != failure.first.source:
        return False
    if failure.covers(source, hit.line):
        return True
    behind = case.order_of(source, hit.line) - case.order_of(source, failure.last_line)
    # a paste may carry the rank only where an exception begins, and its message below without one
    labels = (failure.process,) if failure.cause.message else (failure.process, "")
    near = 0 < behind <= _PARAGRAPHS and hit.process in labels
    return near and case.failure_at(source, hit.line, hit.process) is None


def _failure_of(case: Case, hit: Hit) -> Failure | None:
    """The failure in whose message, or in the paragraphs behind it, a hit stands."""
    inside = case.failure_at(_source(case, hit), hit.line, hit.process)
    said = (each for each in case.failures if each.end.frames and _belongs(case, hit, each))
    return inside or next(said, None)


def _explains(case: Case, candidate: _Candidate, primary: Failure) -> bool:
    """Whether a recognised problem accounts for the first failure that nobody else caused."""
    if _within(case, candidate, primary):
        return True
    first = primary.first
    for hit in () if candidate.doubtful else candidate.hits:
        source = _source(case, hit)
        failure = case.failure_at(source, hit.line, hit.process)
        said = _failure_of(case, hit)
        if said is not None and _is_over(case, said, primary):
            continue
        if failure is None and (hit.level in _TOLD_LEVELS or is_slip(primary)):
            continue  # what is told in passing ended nothing, and a slip needs no other reason
        if failure is not None and _alike(failure, primary) and not _went_on(case, source, hit):
            return True  # the same on another rank
        if failure is not None and failure.mixed and primary.mixed:
            return True  # both failed at once
        key, begin = case.key(source, hit.line), case.key(first.source, first.number)
        if key < begin and not _went_on(case, source, hit):
            return True
        if key > begin and (
            primary.thread or (failure is not None and (_got_over(case, primary) or _outlived(primary, failure)))
        ):
            return True
    return False


def _is_over(case: Case, failure: Failure, primary: Failure) -> bool:
    """Whether a program did without what failed, tried it again, or went on after it."""
    root = recorded(case)
    if root is not None and primary.cause.type == root.cause.type != failure.cause.type:
        return True
    return failure.handled or was_retried(case, failure) or survived(case, failure, primary)


def _alike(one: Failure, other: Failure) -> bool:
    """Whether two failures are of the same type, one that tells something."""
    return one.cause.type == other.cause.type and one.cause.name != "RuntimeError"


def _outlived(caught: Failure, later: Failure) -> bool:
    """Whether a program says that it caught a failure, and nobody does of a later one."""
    return bool(caught.caught) and not caught.noise and not later.caught and not later.thread


def _without_warned(case: Case, failures: list[Failure], candidates: Sequence[_Candidate]) -> list[Failure]:
    """Failures that were caught and only warned of say nothing where anything else went wrong."""
    places = {each.place for each in failures if each.caught == "W"}  # of a long log not every record is kept
    warned = [each for each in failures if each.place in places]
    loud = [each for each in failures if each.place not in places]
    others = (each for each in candidates if each.fatal and not all(hit.level in _QUIET_LEVELS for hit in each.hits))
    if loud or any(not any(_within(case, each, one) for one in warned) for each in others):
        return loud
    return failures


def _went_on(case: Case, source: int, hit: Hit) -> bool:
    orders = case.marks.progress.get(source, [])
    order = case.order_of(source, hit.line)
    return sum(each > order for each in orders) >= 5


def _steps_after(case: Case, source: int, line: int) -> bool:
    """Whether a log shows any progress after a line; a bar that is drawn anew at the end is no proof by itself."""
    order = case.order_of(source, line)
    return any(each > order for each in case.marks.progress.get(source, ()))


def _got_over(case: Case, failure: Failure) -> bool:
    """Whether the process of a failure went on for long, so that it was not what ended it."""
    process = case.processes.get(failure.process)
    return process is not None and abs(process.last.number - failure.last_line) > _QUIET_LINES and bool(failure.process)


# no cause among what is known -------------------------------------------------------------------------------------


def _answers(left: Unknown, entries: Sequence[Entry]) -> list[Finding]:
    finding = unknown.answer(left, entries)
    return [finding] if finding is not None else []


def _without_cause(
    case: Case, victims: list[Failure], symptoms: Sequence[_Candidate], entries: Sequence[Entry], *, silent: bool
) -> list[Finding]:
    """Only consequences, a bad exit without a word, or no end at all."""
    ended = _silent_ends(case, victims, symptoms) or [each for each in case.exits if _bad(case, each)]
    if victims or ended:
        return _answers(unknown.of_consequences(case, victims, ended), entries)
    if silent and _breaks_off(case):
        return _answers(unknown.of_silence(case), entries)
    return []


def _tell_the_end(split: _Split, live: Sequence[Finding]) -> bool:
    """Whether anything may be why a run broke off; a mere note is not, nor what only makes it slow."""
    loud = [each.finding for each in split.helpers if each.finding.severity is not INFO]
    return any(each.problem.ends_run for each in (*live, *loud))


def _silent_ends(case: Case, victims: list[Failure], symptoms: Sequence[_Candidate]) -> list[Exit]:
    """Bad ends of processes that left no word of their own: it is they that the others lost."""
    spoke = {each.rank for each in victims} | {hit.rank for each in symptoms for hit in each.hits}
    aborted = any(each.cause.kind == "c++" and each.rank is None for each in victims)  # what terminate() leaves behind
    return [
        each
        for each in case.exits
        if each.rank is not None
        and each.rank not in spoke
        and not (aborted and each.signal == "SIGABRT")
        and _bad(case, each)
    ]


def _bad(case: Case, each: Exit) -> bool:
    if each.by_launcher or (each.code == 0 and not each.signal):
        return False
    success = case.marks.success
    if success is None or success.source != each.line.source:
        return True
    return success.order < each.line.order and not each.helper  # what reads data is killed when a run is over


def _breaks_off(case: Case) -> bool:
    """Whether a log just stops: it shows a run under way and no end of it."""
    marks = case.marks
    if case.last is None:
        return bool(case.sources)  # there is nothing in it
    if marks.success is not None or marks.asked is not None:
        return False
    if marks.steps is not None:  # a trainer may well ask servers, or start one
        return marks.steps[0] < marks.steps[1]
    open_ended = (place for place in range(len(case.sources)) if case.natures.get(place) != EMPTY)
    done = (place in case.finished and not case.natures.get(place) for place in open_ended)
    return not marks.served and not all(done)


# the chain --------------------------------------------------------------------------------------------------------


def _chain(case: Case, own: list[Failure], victims: list[Failure], verdict: str) -> tuple[Link, ...]:
    """What happened, process by process, in order of time."""
    if verdict == "healthy":
        return ()
    links = _first_of([(each, "raised") for each in own], case)
    lost = [each for each in victims if each.cause.name not in _LAUNCHERS]
    links += _first_of([(each, "waited" if unknown.waited(each) else "lost") for each in lost], case)
    links += _ended(case)
    spoke = {each.rank for each in (*own, *victims)}

    def order(each: tuple[Key, Link]) -> tuple[bool, Key]:
        # a process that died without a word is reported by its launcher after those that lost it have spoken
        key, link = each
        return own != [] or link.what not in {"signal", "ended"} or link.rank in spoke, key

    return tuple(link for _, link in sorted(links, key=order))


def _first_of(failed: Sequence[tuple[Failure, str]], case: Case) -> list[tuple[Key, Link]]:
    """The first failures; of the others, of how many more processes one is like these."""
    links = [_failed(case, failure, what) for failure, what in failed[:_CHAIN_MOST]]
    last = {(link.what, link.detail): number for number, (_, link) in enumerate(links)}
    told: dict[tuple[str, str], set[object]] = {}
    for _, link in links:
        told.setdefault((link.what, link.detail), set()).add((link.file, link.process))
    for failure, what in failed[_CHAIN_MOST:]:
        kind, place = (what, failure.cause.name or failure.cause.type), (failure.cause.line.file, failure.process)
        if kind in last and place not in told[kind]:
            told[kind].add(place)
            key, link = links[last[kind]]
            links[last[kind]] = key, replace(link, alike=link.alike + 1)
    return links


def _failed(case: Case, failure: Failure, what: str) -> tuple[Key, Link]:
    raised, line = failure.cause, failure.cause.line
    return case.key(line.source, line.number), Link(
        what, "cause" if what == "raised" else "symptom", failure.process, failure.rank, line.file, line.number,
        line.time_ns, raised.name or raised.type,
    )  # fmt: skip


def _ended(case: Case) -> list[tuple[Key, Link]]:
    """How processes ended, each once: the report that names the rank counts."""
    by_process: dict[object, Exit] = {}
    for each in case.exits[:_EXITS_MOST]:
        key = ("pid", each.pid) if each.pid is not None else ("rank", each.rank)
        if key == ("rank", None) and each.by_launcher:
            continue
        known = by_process.get(key)
        if known is None or (known.rank is None and each.rank is not None):
            by_process[key] = each
    links = []
    for each in by_process.values():
        line = each.line
        what = "closed" if each.by_launcher else "signal" if each.signal else "ended"
        process = f"rank {each.rank}" if each.rank is not None else f"pid {each.pid}" if each.pid is not None else ""
        link = Link(
            what, "symptom" if each.by_launcher else "", process, each.rank, line.file, line.number, line.time_ns,
            each.signal or ("?" if each.code is None else str(each.code)),
        )  # fmt: skip
        links.append((case.key(line.source, line.number), link))
    return links
