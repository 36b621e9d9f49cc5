"""The one place that orders: what went wrong first, what followed from it, what helped it along.

Failures have fates, recognised problems the fate of the failure or line that shows them, and one order goes over both:
by fate, then by what names what as its cause, then by time. Confidence follows the witness: what a process itself
recorded counts for more than a line of a log, and a line that was got over for less than the failure that ended it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from doctor.base.record import mutable, record, replace
from doctor.catalogue.finding import LIKELY, Finding, Role
from doctor.catalogue.outcome import Crashed
from doctor.catalogue.problem import ERROR, INFO, OF_TRAINING
from doctor.catalogue.signature import Hit
from doctor.catalogue.unrecognised import Unknown
from doctor.logs import events
from doctor.logs.failures import absent, mismatches, spoken, typeless, wrapped
from doctor.logs.failures import unrecognised as unknown
from doctor.logs.failures.beside import layouts, sides
from doctor.logs.failures.case import Case
from doctor.logs.failures.chain import ChainLink, chain
from doctor.logs.failures.ends import breaks_off, end_of, is_bad, silent_ends
from doctor.logs.failures.fates import HABIT, Fate, Fates, Judged
from doctor.logs.failures.quotes import Quotes
from doctor.logs.failures.raised import Failure
from doctor.logs.failures.repeats import repeated
from doctor.logs.failures.roots import recorded
from doctor.logs.failures.victims import failed_by_itself, may_be_echo
from doctor.logs.failures.waiting import parted
from doctor.logs.lines.exits import Exit
from doctor.logs.lines.nature import NOTES
from doctor.logs.match.problems import Catalogue
from doctor.logs.match.recognised import Candidate, Key, called, candidates, doubted, source_of
from doctor.logs.match.shortened import begins_like
from doctor.logs.metrics.live import merged
from doctor.logs.told.judged import joined

_PARAGRAPHS = 25  # lines behind an exception that still belong to what it says
_WARNED = frozenset("WID")  # levels of records that a program writes of what did not end it
_KILLS = frozenset({"", "SIGTERM", "SIGINT"})
#: the exception by which the guard ends a run that no trainer drives
_STOP = "doctor.monitors.guard.shield.GuardStop"


@record
class Beyond:
    """What is known of a run besides its log lines.

    Args:
        shown: what rules over metrics, artifacts and the guard's alarms say; notes among them.
        told: what the events of run folders say.
        still: a pause at the end that the logs show; None where they show none.
        unclear: files that may hold several attempts.
        judged: names of the metrics that rules have judged.

    """

    shown: tuple[Finding, ...] = ()
    told: events.Told = events.Told()
    still: Finding | None = None
    unclear: Collection[str] = ()
    judged: tuple[str, ...] = ()

    @property
    def alarms(self) -> list[Finding]:
        """Those that are more than notes."""
        return [each for each in self.shown if each.severity is not INFO]


@record
class RankedFindings:
    """Findings, root cause first; whether one is known; the chain of consequences; our own crashes."""

    findings: tuple[Finding, ...]
    verdict: str
    chain: tuple[ChainLink, ...] = ()
    crashed: tuple[Crashed, ...] = ()


def judge(
    case: Case, hits: Sequence[tuple[int, Hit]], counts: Mapping[int, int], catalogue: Catalogue, beyond: Beyond
) -> RankedFindings:
    """Judge a case.

    Args:
        case: what the logs say.
        hits: (position of the signature in the catalogue, hit).
        counts: how many hits of each signature there were.
        catalogue: the signatures, and the problems that answer for what they do not know.
        beyond: what is known besides.

    """
    crashed: list[Crashed] = []
    unbroken = wrapped.hits_in(case, catalogue, counts)
    bare = typeless.hits_in(case, catalogue) if not (hits or unbroken) else []
    unbroken += bare
    hits, counts = [*hits, *unbroken], {**dict.fromkeys((index for index, _ in unbroken), 1), **counts}
    quotes = Quotes(case, [hit for _, hit in hits])
    hits = [(index, hit) for index, hit in hits if not quotes.hit(hit)]
    case.exits = [each for each in case.exits if not quotes.exit(each)]
    notes = {place for place, nature in case.natures.items() if nature == NOTES}
    whole = bool(notes) and len(notes) == len(case.sources)
    if not whole:
        hits = [(index, hit) for index, hit in hits if source_of(case, hit) not in notes]
        case.failures = [each for each in case.failures if each.first.source not in notes]
    known = [doubted(case, each, quotes) for each in candidates(case, hits, counts, catalogue, crashed)]
    for each in known if bare else ():  # the same words may be those of a warning
        each.finding = replace(each.finding, confidence=LIKELY)
    order = _Order(case, known, catalogue, Fates(case, quotes, _words_of_loss(case, known)), beyond)
    found = order.of_notes() if whole else order.findings()
    verdict = "unknown" if order.first else "known" if found else "healthy"
    links = () if verdict == "healthy" or whole else chain(case, order.own, order.victims)
    placed = _placed(found, case, catalogue, beyond)
    # the checks over what the logs tell, and then, where nobody knew an answer, what the exception's parts show, and
    # what the program itself says
    checked, misjudged = joined(placed, case, catalogue.entries, catalogue.unknown, well=bool(end_of(case)))
    laid, mislaid = layouts.told(checked, case, catalogue.entries, catalogue.unknown)
    shown, mistaken = mismatches.told(laid, case, catalogue.entries, catalogue.unknown)
    answered, misheard = spoken.told(shown, case, catalogue.entries, catalogue.unknown)
    answered = sides.told(parted.told(absent.told(answered, case, catalogue.entries), case), case)
    return RankedFindings(answered, verdict, links, (*crashed, *misjudged, *mislaid, *mistaken, *misheard))


def _words_of_loss(case: Case, known: Sequence[Candidate]) -> dict[int, list[int]]:
    """Source -> lines with words that a signature knows as those of a process that another one took down."""
    found: dict[int, list[int]] = {}
    for candidate in known:
        for hit in candidate.hits if candidate.victim else ():
            found.setdefault(source_of(case, hit), []).append(hit.line)
    return found


# what the logs say ------------------------------------------------------------------------------------------------


@mutable
class _Order:
    """Failures and recognised problems of one case in their order.

    Args:
        case: what the logs say.
        known: the problems that signatures recognised.
        catalogue: words for what they did not.
        fates: what became of the failures.
        beyond: what metrics, artifacts and the guard show.

    """

    case: Case
    known: list[Candidate]
    catalogue: Catalogue
    fates: Fates
    beyond: Beyond
    first: list[Finding] = field(default_factory=list)  # what is said where no known problem is the cause
    causes: list[Candidate] = field(default_factory=list)
    helpers: list[Candidate] = field(default_factory=list)
    symptoms: list[Candidate] = field(default_factory=list)
    habits: list[Failure] = field(default_factory=list)  # caught again and again, where nothing else failed

    def __post_init__(self) -> None:
        """Set what failed by itself apart from what was lost."""
        self.live = self.beyond.alarms
        self._root = recorded(self.case)
        judged = self.fates.those(Fate.ENDED, Fate.CAUGHT)
        if all(each.row == HABIT for each in judged):
            self.habits, judged = [each.failure for each in judged], []
        self.own = [each.failure for each in judged]
        self.victims = [each.failure for each in self.fates.those(Fate.ECHO)]
        #: the first that ended the run; what its process recorded itself counts for more than what others print
        self.primary = min(judged, key=self._of_failure, default=None)

    def _of_failure(self, each: Judged) -> tuple[Fate, bool, Key]:
        """The order: by fate, by the strength of the witness, by time."""
        failure = each.failure
        witnessed = self._root is not None and failure.cause.type == self._root.cause.type
        return each.fate, not witnessed, self.case.key(failure.first.source, failure.first.number)

    def _of_hit(self, hit: Hit) -> tuple[Fate, bool, Key]:
        """The same for a line by which a problem was recognised."""
        source = source_of(self.case, hit)
        said = self._failure_of(hit)
        if said is None:
            # a mere line has no witness to compare: fate and time alone tell
            weak = self.primary is not None and self._of_failure(self.primary)[1]
            return self.fates.of_line(hit), weak, self.case.key(source, hit.line)
        fate, weak, _ = self._of_failure(self.fates.of(said))
        return fate, weak, self.case.key(source, hit.line)

    def findings(self) -> list[Finding]:
        """What the logs say, root cause first."""
        if not (self.own or self.victims or any(is_bad(self.case, each) for each in self.case.exits)):
            self._nothing_failed()
        self._roles()
        if self.primary is not None:
            self._weigh(self.primary)
        ends = self._unexplained()
        if not self.first and not self.causes and self.symptoms and not self._measured():
            self.causes, self.symptoms = self.symptoms[:1], self.symptoms[1:]  # nobody said anything better
        return [*self.first, *self._by_role(), *ends, *self._caught_always()]

    def of_notes(self) -> list[Finding]:
        """A text about many problems has no cause; what it shows is named in its order."""
        self.first = self._answers(unknown.of_silence(self.case))
        shown = sorted(self.known, key=lambda each: each.key)
        return [*self.first, *(replace(each.finding, role=Role.CONTRIBUTING, confidence=LIKELY) for each in shown)]

    def _nothing_failed(self) -> None:
        """An error that the run got over is none; where it went only a step further that is likely at most."""
        self.known = [each for each in self.known if not each.fatal or not self._got_through(each)]
        for each in self.known:
            later = (self.fates.progress(source_of(self.case, hit), hit.line, 1) for hit in each.hits)
            if each.fatal and all(witness is not None for witness in later):
                each.finding = replace(each.finding, confidence=LIKELY)

    def _caught_always(self) -> list[Finding]:
        """What a process caught again and again while it worked, the first of it, beside the word on the end."""
        told = [one for each in self.habits[:1] for one in self._answers(unknown.of_failure(self.case, each))]
        return [replace(each, role=Role.CONTRIBUTING) for each in told]

    def _got_through(self, each: Candidate) -> bool:
        return all(
            hit.level in _WARNED or self.fates.quotes.doubtful(hit) or self.fates.of_line(hit) is not Fate.ENDED
            for hit in each.hits
        )

    def _roles(self) -> None:
        """Split the known problems by role, each the earliest first, proven ones before likely ones."""
        fatal = [each for each in self.known if each.fatal]
        for each in sorted(self.known, key=lambda each: (each.finding.confidence is LIKELY, each.key)):
            if each.victim or each.names(self.known, "symptom_of") or self._follows(each):
                self.symptoms.append(each)
            elif not each.fatal or each.names(fatal, "contributes_to"):
                self.helpers.append(each)
            else:
                self.causes.append(each)
        self.symptoms.sort(key=lambda each: each.key)

    def _weigh(self, primary: Judged) -> None:
        """Put what the failure itself says before what was said elsewhere, which proves nothing."""
        within = [each for each in (*self.causes, *self.helpers) if self._within(each, primary.failure)]
        outside = [each for each in self.causes if each not in within]
        if within:  # mere warnings elsewhere were got over
            outside = [each for each in outside if not all(hit.level in _WARNED for hit in each.hits)]
        # what only spoils other runs ended this one, where its words are those of the failure
        self.helpers = [each for each in self.helpers if each not in within]
        here = [each for each in self._all if self._within(each, primary.failure)]
        shown = {name for each in here for name in each.wanted("symptom_of")}
        for each in outside:  # a mere line comes behind what the failure itself says, however likely that is
            if self._is_line(each) and not _named(each, shown):
                each.finding = replace(each.finding, confidence=LIKELY)
        self.causes = sorted([*within, *outside], key=lambda each: each.finding.confidence is LIKELY)
        for each in (*self.causes, *self.helpers):  # of two failures the first stays first, though it was got over
            if self._is_got_over(each):
                each.finding = replace(each.finding, confidence=LIKELY)

    def _is_line(self, each: Candidate) -> bool:
        """Whether mere lines show it: that they came first is all that is known."""
        at = ((source_of(self.case, hit), hit) for hit in each.hits)
        return all(self.case.failure_at(source, hit.line, hit.process) is None for source, hit in at)

    def _is_got_over(self, each: Candidate) -> bool:
        """Whether only failures show it after which the program went on, at least to another end."""
        inside = [one for hit in each.hits if (one := self._failure_of(hit)) is not None]
        return bool(inside) and all(self._is_outlived(one, each) for one in inside)

    def _is_outlived(self, one: Failure, each: Candidate) -> bool:
        if self._of_failure(self.fates.of(one))[:2] == (Fate.ENDED, False) and self._root is not None:
            return False  # the launcher says that it was the first
        end = self._later_end(one)
        got_over = self.primary is not None and self.primary.fate < self.fates.of(one).fate is Fate.CAUGHT
        return got_over or (end is not None and not self._within(each, end))

    def _later_end(self, failure: Failure) -> Failure | None:
        """The first failure of another kind that ended the same process later, and does not pass this one on."""
        if not (failure.reached_top or failure.was_caught or failure.of_library):
            return None
        ends = (each.failure for each in self.fates.those(Fate.ENDED) if each.failure.reached_top)
        ends = (each for each in ends if failure.was_caught or not may_be_echo(each))
        return next((each for each in ends if each.is_another_after(failure)), None)

    def _unexplained(self) -> list[Finding]:
        """Answer for a failure, or an end, that no known problem explains; gives what is known to follow from it."""
        primary = self.primary
        if primary is None:
            if not self.causes and (not self.symptoms or self._silent()):
                self.first = self._without_cause()
            return []
        causes = {name for each in self.causes for name in (each.id, each.finding.problem.family)}
        pointed = [each for each in self.symptoms if each.wanted("symptom_of") & causes]
        explained = any(self._explains(each, primary) for each in self.causes)
        if explained or any(self._within(each, primary.failure) for each in (*self._measured(), *pointed)):
            return [
                replace(each, role=Role.SYMPTOM)
                for each in self._unknown_end(self._later_end(primary.failure) or primary.failure)
            ]
        said = primary.failure.cause
        begins = begins_like(said.type, said.message, self.catalogue.signatures)
        self.first = self._answers(replace(unknown.of_failure(self.case, primary.failure), begins=begins))
        self.helpers, self.causes = [*self.helpers, *self.causes], []
        return []

    def _by_role(self) -> list[Finding]:
        """The known problems with their roles; what the metrics show is the cause where nothing ended the run."""
        causes, helpers = [each.finding for each in self.causes], [each.finding for each in self.helpers]
        live = list(self.live)
        if not causes and not self.first:
            causes, live = live, []
        if not causes and not self.first:
            causes, helpers = helpers, []
        return [
            *causes[:1],
            *(_unless_symptom(each, Role.CONTRIBUTING) for each in (*causes[1:], *live, *helpers)),
            *(replace(each.finding, role=Role.SYMPTOM) for each in self.symptoms),
        ]

    @property
    def _all(self) -> list[Candidate]:
        return [*self.causes, *self.helpers, *self.symptoms]

    def _follows(self, each: Candidate) -> bool:
        """Whether the metrics show what it is a consequence of."""
        measured = {name for one in self.live for name in (one.problem.id, one.problem.family)}
        return bool(each.wanted("symptom_of") & measured)

    def _measured(self) -> list[Candidate]:
        return [each for each in self.symptoms if self._follows(each)]

    # whose words stand where ------------------------------------------------------------------------------------

    def _within(self, each: Candidate, failure: Failure) -> bool:
        """Whether a problem's words stand in a failure, or in the paragraphs of its message that follow."""
        return any(self._belongs(hit, failure) for hit in each.hits)

    def _belongs(self, hit: Hit, failure: Failure) -> bool:
        case, source = self.case, source_of(self.case, hit)
        if source != failure.first.source:
            return False
        if failure.covers(source, hit.line):
            return True
        behind = case.order_of(source, hit.line) - case.order_of(source, failure.last_line)
        # a paste may carry the rank only where an exception begins, and its message below without one
        labels = (failure.process,) if failure.cause.message else (failure.process, "")
        near = 0 < behind <= _PARAGRAPHS and hit.process in labels
        return near and case.failure_at(source, hit.line, hit.process) is None

    def _failure_of(self, hit: Hit) -> Failure | None:
        """The failure in whose message, or in the paragraphs behind it, a hit stands."""
        inside = self.case.failure_at(source_of(self.case, hit), hit.line, hit.process)
        behind = (each for each in self.case.failures if each.end.frames and self._belongs(hit, each))
        return inside or next(behind, None)

    def _explains(self, each: Candidate, primary: Judged) -> bool:
        """Whether a problem accounts for the first failure that nobody else caused."""
        failure = primary.failure
        if self._within(each, failure):
            return True
        for hit in () if each.doubtful else each.hits:
            inside = self._failure_of(hit)
            if inside is not None and self._is_same(inside, failure):
                return True
            if self._of_hit(hit) < self._of_failure(primary):
                return True
            if failure.caught and inside is not None and not inside.caught and not inside.thread:
                return True  # what a program says that it caught comes behind what it says of none
        return False

    def _is_same(self, one: Failure, other: Failure) -> bool:
        """Whether two processes failed alike."""
        alike = one.cause.type == other.cause.type and one.cause.name != "RuntimeError"
        return alike and self.fates.of(one).fate is Fate.ENDED

    def _unknown_end(self, end: Failure) -> list[Finding]:
        """What ended the process of the first failure, where nothing known is said in it."""
        if not end.reached_top or not failed_by_itself(end) or any(self._shows(each, end) for each in self._all):
            return []
        return self._answers(unknown.of_failure(self.case, end))

    def _shows(self, each: Candidate, failure: Failure) -> bool:
        """Whether its words stand in a failure, or in one that says the same."""
        inside = (self._failure_of(hit) for hit in each.hits)
        alike = (one is not None and one.cause.says == failure.cause.says for one in inside)
        return self._within(each, failure) or any(alike)

    # where nothing is known -------------------------------------------------------------------------------------

    def _answers(self, left: Unknown) -> list[Finding]:
        finding = unknown.answer(left, self.catalogue.entries.values())
        return [finding] if finding is not None else []

    def _silent(self) -> list[Exit]:
        """Bad ends of processes that left no word."""
        spoke = {each.rank for each in self.victims} | {hit.rank for each in self.symptoms for hit in each.hits}
        return silent_ends(self.case, self.victims, spoke)

    def _without_cause(self) -> list[Finding]:
        """Only consequences, a bad exit without a word, or no end at all."""
        gone = self._silent() or [each for each in self.case.exits if is_bad(self.case, each)]
        if self.victims or gone:
            return self._answers(unknown.of_consequences(self.case, self.victims, gone))
        if breaks_off(self.case) and not self._tells_the_end():
            return [*self._answers(replace(unknown.of_silence(self.case), judged=self._blameless())), *self._again()]
        return self._again()

    def _blameless(self) -> tuple[str, ...]:
        """The metrics that were judged, without those that a headline speaks of all the same, were it in a note."""
        told = {word for each in self.beyond.shown for word in re.findall(r"[\w/]+", each.words("en").headline)}
        return tuple(each for each in self.beyond.judged if each not in told)

    def _again(self) -> list[Finding]:
        """An error that the run logs all the while, where nothing else was found and its metrics say nothing."""
        if self.live or self.helpers or self.habits or not self.beyond.judged or (told := repeated(self.case)) is None:
            return []
        return self._answers(unknown.of_repeated(self.case, told))

    def _tells_the_end(self) -> bool:
        """Whether anything may be why a run broke off; a mere note is not, nor what only makes it slow.

        Of a few lines that a person quotes the end was not quoted: there what spoils the training is their subject.
        """
        loud = [each.finding for each in self.helpers if each.finding.severity is not INFO]
        # a note that explains what the few lines show is the answer to the question that they ask
        seen = loud or self.beyond.shown
        quoted = self.case.lines <= _QUOTED and any(each.problem.id.startswith(OF_TRAINING) for each in seen)
        return quoted or any(each.problem.ends_run for each in (*self.live, *loud))


#: lines of a log that is no more than what a person quotes of one
_QUOTED = 12


def _named(each: Candidate, names: Collection[str]) -> bool:
    return bool({*each.called, "*"} & {*names})


def _unless_symptom(finding: Finding, role: Role) -> Finding:
    """The finding in a role, but for one that the rules over the metrics know to be a consequence."""
    return finding if finding.role is Role.SYMPTOM else replace(finding, role=role)


# what processes recorded besides ----------------------------------------------------------------------------------


def _placed(found: Sequence[Finding], case: Case, catalogue: Catalogue, beyond: Beyond) -> tuple[Finding, ...]:
    """The findings with what processes recorded and metrics show in its place; notes come last."""
    ordered = list(found)
    for stronger in (_measured, _stopped, _stood_still):
        if ordered and (cause := stronger(ordered[0], case, catalogue, beyond)) is not None:
            ordered = _led_by(ordered, cause, catalogue)
    still = _still(beyond)
    if not ordered and beyond.still is not None and (case.marks.success or case.marks.served):
        ordered = [beyond.still]  # one process is through, or serves, and another one waits
    if ordered and still is not None and ordered[0].problem.id != still.problem.id and not _is_told(still, ordered):
        ordered.append(replace(still, role=Role.CONTRIBUTING))
    notes = [replace(each, role=Role.CONTRIBUTING) for each in beyond.shown if each.severity is INFO]
    # of several attempts in one file the first to fail need not be the last
    ordered = [replace(each, confidence=LIKELY) if each.where.file in beyond.unclear else each for each in ordered]
    return events.with_place(merged((*ordered, *notes)), beyond.told)


def _is_told(still: Finding, found: Sequence[Finding]) -> bool:
    """Whether a known problem says what the line means on which a standstill rests."""
    lines = {(each.origin.source, each.origin.line) for each in still.evidence[:1]}
    return any((each.origin.source, each.origin.line) in lines for one in found for each in one.evidence)


def _led_by(found: Sequence[Finding], cause: Finding, catalogue: Catalogue) -> list[Finding]:
    """The findings behind a stronger word: an answer that knew nothing goes, what was first follows from it."""
    gone = {cause.problem.id, *catalogue.unknown}
    behind = [replace(found[0], role=Role.SYMPTOM)] if found[0].problem.id not in gone else []
    return [replace(cause, role=Role.CAUSE), *behind, *(each for each in found[1:] if each.problem.id not in gone)]


def _points_to(first: Finding, catalogue: Catalogue) -> set[str]:
    """Ids and areas of problems that a finding is a symptom of, as its signatures declare."""
    return {name for each in catalogue.of(first.problem.id) for name in each.signature.symptom_of}


def _is_unknown(first: Finding, catalogue: Catalogue) -> bool:
    return catalogue.entries[first.problem.id].area == "unknown" if first.problem.id in catalogue.entries else False


def _measured(first: Finding, case: Case, catalogue: Catalogue, beyond: Beyond) -> Finding | None:  # noqa: ARG001
    """An error that metrics showed before the failure that is its consequence."""
    if first.problem.id in {each.problem.id for each in beyond.alarms}:
        return None
    names = _points_to(first, catalogue)
    alarms = (each for each in beyond.alarms if each.severity is ERROR and each.role is Role.CAUSE)
    return next((each for each in alarms if called(each.problem) & names), None)


def _stopped(first: Finding, case: Case, catalogue: Catalogue, beyond: Beyond) -> Finding | None:
    """The alarm for which the guard stopped the run, where its stop ended it, and no problem stands for that."""
    if not _is_unknown(first, catalogue):
        return None
    # where no process raised anything, a code of the program's own follows the stop
    follows = beyond.told.stop is not None and not case.failures
    return beyond.told.stopping if follows or any(_STOP in each.text for each in first.evidence) else None


def _stood_still(first: Finding, case: Case, catalogue: Catalogue, beyond: Beyond) -> Finding | None:
    """A run that stood still, where nobody knew better and no process ended on its own account.

    What the ranks recorded of it themselves counts for more than the word of one that waited for another in vain.
    """
    still = _still(beyond)
    if still is None:
        return None
    names = _points_to(first, catalogue)
    died = any(not each.by_launcher and (each.signal not in _KILLS or (each.code or 0) > 0) for each in case.exits)
    waited = still is beyond.told.standstill and "*" in names
    known = still.problem.id in names or waited or (_is_unknown(first, catalogue) and not died)
    return still if known else None


def _still(beyond: Beyond) -> Finding | None:
    return beyond.told.standstill or beyond.still
