"""From hits to recognised problems: which hits may speak, and what each problem makes of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from doctor.base.record import mutable, replace
from doctor.catalogue.finding import LIKELY, Finding
from doctor.catalogue.outcome import Crashed, crash_of
from doctor.catalogue.problem import ROW, Problem
from doctor.catalogue.signature import Hit, Hits
from doctor.logs.failures.case import Case
from doctor.logs.failures.elided import unmistakable
from doctor.logs.failures.quotes import Quotes
from doctor.logs.failures.raised import Failure
from doctor.logs.failures.victims import failed_by_itself
from doctor.logs.match.matcher import Compiled
from doctor.logs.match.problems import Catalogue, finding_of, in_range, is_victims_word

_QUIET_LEVELS = frozenset("WID")
Key = tuple[int, int, int]


def called(problem: Problem) -> set[str]:
    """What signatures may call a problem: by its id, that of its table, the letters of its area."""
    return {problem.id, problem.family, problem.letters}


@mutable
class Candidate:
    """A problem that signatures recognised."""

    finding: Finding
    signatures: list[Compiled]
    hits: Hits
    key: Key
    doubtful: bool = False  # its words may be those of a program that the run executed

    @property
    def id(self) -> str:
        """Of its problem."""
        return self.finding.problem.id

    @property
    def called(self) -> set[str]:
        """What signatures may call it: by its id, that of its table, the letters of its area."""
        return called(self.finding.problem)

    @property
    def victim(self) -> bool:
        """Whether it is the word of a process that another one took down."""
        return all(is_victims_word(each) for each in self.signatures)

    @property
    def fatal(self) -> bool:
        """Whether it ends runs."""
        return any(each.signature.kind == "error" for each in self.signatures)

    def names(self, others: Iterable[Candidate], attribute: str) -> bool:
        """Whether one of its signatures names one of some problems, or its area, in `attribute`.

        Where two problems name each other's area, or one names the other by its id, the area says nothing.
        """
        mine = self.wanted(attribute)
        for other in others:
            if other.id == self.id:
                continue
            back = other.wanted(attribute)
            theirs = other.finding.problem
            if mine & {theirs.id, theirs.family} or (theirs.letters in mine and not back & self.called):
                return True
        return False

    def wanted(self, attribute: str) -> set[str]:
        """Ids and areas that its signatures name in `attribute`."""
        return {name for each in self.signatures for name in getattr(each.signature, attribute)}


def doubted(case: Case, candidate: Candidate, quotes: Quotes) -> Candidate:
    """The same, likely at most where all that speaks for it may be quoted, or is raised by the user's own code."""
    candidate.doubtful = all(quotes.doubtful(each) for each in candidate.hits)
    unsure = all(quotes.unsure(each) for each in candidate.hits) or _frameless(case, candidate)
    if unsure or all(_raised_by_user(case, each) for each in candidate.hits):
        candidate.finding = replace(candidate.finding, confidence=LIKELY)
    return candidate


def _raised_by_user(case: Case, hit: Hit) -> bool:
    """Whether a statement of the user's own code raised it: a library's words prove nothing there."""
    source = source_of(case, hit)
    failure = case.failure_at(source, hit.line, hit.process)
    raised = failure.raised_at(hit.line, hit.text) if failure is not None else None
    if raised is None or not raised.frames:
        return False
    last = raised.frames[-1]
    return last.own and last.code.startswith("raise ")


def candidates(case: Case, hits: Sequence[tuple[int, Hit]], counts: Mapping[int, int], catalogue: Catalogue,
                crashed: list[Crashed]) -> list[Candidate]:  # fmt: skip
    """The problems that hits show; a bug of ours in one problem's file goes into `crashed`."""
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
            crashed.append(crash_of(problem_id, exc))
            continue
        if candidate is not None:
            found.append(candidate)
    return found


def _counts(case: Case, declared: Compiled, hit: Hit) -> bool:
    """Whether a hit may speak: right frames, not the noise of an end, not something the run got over."""
    signature = declared.signature
    source = source_of(case, hit)
    failure = case.failure_at(source, hit.line, hit.process)
    shown = not signature.frame or _raised_below(signature.frame, hit, own_code=signature.own_code)
    if not shown and not _by_words_alone(declared, hit, failure):
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


def _by_words_alone(declared: Compiled, hit: Hit, failure: Failure | None) -> bool:
    """Whether the frames that a signature asks for may be those that were left out, and its words name their owner."""
    if hit.own and hit.frames[-1] in hit.own and not declared.signature.own_code:
        return False
    raised = failure.raised_at(hit.line, hit.text) if failure is not None else None
    left_out = raised.elided if raised is not None and hit.frames else not hit.frames
    return left_out and hit.level not in _QUIET_LEVELS and unmistakable(declared.signature.pattern)


def _frameless(case: Case, candidate: Candidate) -> bool:
    """Whether no frame and no version supports any of its hits, though its signatures ask for frames."""
    declared = {each.index: each.signature for each in candidate.signatures}
    for hit in candidate.hits:
        each = declared.get(hit.signature)
        if each is None or not each.frame or _raised_below(each.frame, hit, own_code=each.own_code):
            return False
        if _testified(case, hit, each.frame):
            return False
    return True


def _testified(case: Case, hit: Hit, pattern: str) -> bool:
    """Whether a frame that is shown, or a version that the log tells, says that the library of a pattern runs there."""
    failure = case.failure_at(source_of(case, hit), hit.line, hit.process)
    frames = (frame for raised in (failure.chain if failure is not None else ()) for frame in raised.frames)
    told = {*(frame.package for frame in frames), *case.versions} - {""}
    return any(re.search(rf"\b{re.escape(each)}\b", pattern) for each in told)


def _failed_later(case: Case, order: int) -> bool:
    return any(each.first.order > order and not each.noise and failed_by_itself(each) for each in case.failures)


def source_of(case: Case, hit: Hit) -> int:
    """Position of the source in which a hit stands."""
    return case.source_of(hit.file)


def _candidate(case: Case, problem_id: str, group: list[tuple[int, Hit]], counts: Mapping[int, int],
               catalogue: Catalogue) -> Candidate | None:  # fmt: skip
    declared = {index: catalogue.signatures[index] for index, _ in group}
    main = [each for each in declared.values() if each.signature.kind != "sign"]
    if not main:
        return None
    ordered = sorted(group, key=lambda each: case.key(source_of(case, each[1]), each[1].line))
    # what ends runs comes before what only supports it, so that `first` captures what the words need
    ordered.sort(key=lambda each: catalogue.signatures[each[0]].signature.kind == "sign")
    kept = tuple(replace(hit, signature=catalogue.signatures[index].index) for index, hit in ordered)
    total = sum(counts.get(index, 0) for index, each in declared.items() if each.signature.kind != "sign")
    hits = Hits(
        kept, max(total, 1), case.versions, case.config, case.world_size, case.given.facts, case.given.text,
        problem_id.partition(ROW)[2],
    )  # fmt: skip
    finding = finding_of(catalogue.entries[problem_id], hits, main[0].signature)
    if finding is None:
        return None
    first = kept[0]
    source = source_of(case, first)
    return Candidate(finding, main, hits, case.key(source, first.line))
