"""From paths to a diagnosis: what `doctor postmortem` does, callable without a command line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.base.record import record, replace
from doctor.catalogue.finding import Finding, Role
from doctor.catalogue.fix import fixable
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed, Outcome, Skipped
from doctor.catalogue.problem import INFO
from doctor.diagnosis.report import Diagnosis, Subject
from doctor.diagnosis.suppress import Ignored, suppress
from doctor.logs import events
from doctor.logs.artifacts import Artifacts
from doctor.logs.capsules import read
from doctor.logs.enriched import enriched
from doctor.logs.failures import alike, begun, connections, hangs, loops, taken_for_end
from doctor.logs.failures.case import Case
from doctor.logs.failures.ends import end_of
from doctor.logs.gathered import MOST_ENDS, Gathered, LogNotReadable, gather, judged, lying_at
from doctor.logs.match import problems as catalogue_module
from doctor.logs.match.problems import Catalogue
from doctor.logs.metrics import courses, own_test, seen, waste
from doctor.logs.metrics.files import MetricsCsv
from doctor.logs.metrics.live import Live
from doctor.logs.read import context as context_module
from doctor.logs.read.dividing import Work
from doctor.logs.read.layouts import ARCHIVES
from doctor.logs.read.scan import Scanner
from doctor.logs.read.streams import STDIN
from doctor.logs.recorded import Written
from doctor.logs.stacks import judged as judged_stacks
from doctor.logs.verdict import Beyond, RankedFindings, judge

if TYPE_CHECKING:
    from doctor.logs.read.archives import Opened

#: values of a metric below which nobody can say where it goes
_COURSE = 5
_PACKAGES_SHOWN = ("torch", "trl", "vllm", "deepspeed", "accelerate", "transformers", "peft", "verl", "ray")


@record
class Postmortem:
    """A diagnosis with what it was made of; archives stay open as long as this object lives."""

    diagnosis: Diagnosis
    case: Case
    ranked: RankedFindings
    opened: Opened | None = None
    held: read.Capsules = read.Capsules()
    written: Written | None = None

    @property
    def breaks_off(self) -> bool:
        """Whether all there is to say is that the log stops."""
        return self.ranked.verdict == "unknown" and not self.ranked.chain


@record
class Prepared:
    """What several post-mortems can share."""

    catalogue: Catalogue
    scanner: Scanner


def prepare(entries: Sequence[Entry] | None = None) -> Prepared:
    """Read the signatures of the whole catalogue, or of some of its problems."""
    catalogue = catalogue_module.read(entries)
    return Prepared(catalogue, Scanner(catalogue.signatures))


def examine(
    paths: Sequence[str],
    *,
    context: Iterable[Path] = (),
    ignored: Iterable[Ignored] = (),
    language: str = "en",
    run_dir: str | None = None,
    prepared: Prepared | None = None,
    table: MetricsCsv | None = None,
    work: Work | None = None,
    capsule_files: Sequence[str] = (),
    price: float | None = None,
) -> Postmortem:
    """Read logs and say what went wrong first.

    Args:
        paths: logs, files of metrics, folders, globs, "-" for standard input.
        context: environment reports, configurations, commands.
        run_dir: the run folder that the paths belong to.
        ignored: what the user does not want to hear.
        language: "en" or "zh".
        prepared: what several post-mortems share.
        table: where every metric is written.
        work: who reads the files; None: the cores of this machine.
        capsule_files: capsules that lie outside of a run folder among the paths.
        price: money that a GPU costs in an hour.

    Raises:
        NoLogs: nothing to read at the given paths.
        LogNotReadable: a log cannot be read.

    """
    started = time.monotonic()
    prepared = prepared or prepare()
    catalogue = prepared.catalogue
    given = context_module.read(context)
    opened = _opened(paths, work)
    seen = _see(opened.paths if opened is not None else paths, capsule_files, given, prepared, table, work)
    case = seen.gathered.case
    ranked = judge(case, seen.gathered.hits, seen.gathered.counts, catalogue, seen.beyond)
    found = _outcome(seen, opened, ranked, catalogue)
    end = _end(seen, found.findings, read_all=not (found.skipped or found.crashed))
    outcome = suppress(replace(found, seconds=time.monotonic() - started), ignored, None)
    spent = _wasted(seen.live, case, price)
    target = Subject(
        files=seen.files,
        run_dir=run_dir,
        summary=(*_summary(case, seen.live), *end.witness, *(each.clause for each in spent), *_remarks(seen)),
        stands_for=(*(opened.names if opened is not None else ()), *seen.written.names),
        stopped=None if seen.told.stop is None else seen.told.stop.as_data(),
    )
    diagnosis = Diagnosis(
        "postmortem", target, outcome, dict(catalogue.entries), language, outcome.seconds,
        fixes=fixable(catalogue.entries.values()), verdict=_verdict(outcome.findings, catalogue, whole=end.well),
        chain=tuple(vars(each) for each in ranked.chain), series=seen.live.series,
        not_seen=(*end.untold, *seen.live.not_seen),
        unjudged=seen.live.unjudged, wasted=tuple(each.as_data() for each in spent),
    )  # fmt: skip
    return Postmortem(diagnosis, case, ranked, opened, seen.held, seen.written)


def _outcome(seen: _Seen, opened: Opened | None, ranked: RankedFindings, catalogue: Catalogue) -> Outcome:
    """What was found, with what the processes held and what the source says; whatever the user wants to hear."""
    still = {each.problem.id for each in (seen.told.standstill, seen.beyond.still) if each}
    case = seen.gathered.case
    findings, doubts = enriched(ranked.findings, case, seen.held, seen.folders, still, catalogue.unknown)
    skipped = (*_skipped(seen, opened), *seen.held.skipped)
    return Outcome(findings, skipped, (*ranked.crashed, *seen.crashed, *doubts), catalogue.problems, 0.0)


def _wasted(live: Live, case: Case, price: float | None) -> tuple[waste.Waste, ...]:
    """What the metrics of the run show to have been spent for nothing."""
    settings = courses.settings_of(case) if live.courses else {}
    return waste.wasted(live.courses, live.findings, settings, case.world_size, price)


@record
class _Seen:
    """All that paths and context hold, before the order of causes.

    Args:
        gathered: what the logs say.
        live: what the rules say to the metrics.
        beside: what else a run leaves: checkpoints, rollouts, flight recorders.
        told: what the run folders' own records say.
        held: what the processes held when they failed.
        written: logs of processes that only the run folder names.
        beyond: what of these the verdict weighs beside the log lines.
        folders: the given paths, standard input left out.
        crashed: our own failures on the way.
        files: everything that was read.

    """

    gathered: Gathered
    live: Live
    beside: Artifacts
    told: events.Told
    held: read.Capsules
    written: Written
    beyond: Beyond
    folders: tuple[str, ...]
    crashed: tuple[Crashed, ...]
    files: tuple[str, ...]


def _see(
    paths: Sequence[str],
    capsule_files: Sequence[str],
    given: context_module.Given,
    prepared: Prepared,
    table: MetricsCsv | None,
    work: Work | None,
) -> _Seen:
    """Read everything once, and let the rules judge what can be judged by itself."""
    catalogue = prepared.catalogue
    own = [each for each in paths if each != STDIN]
    held = read.read(own, capsule_files)
    written = Written(held, own)
    paths = (*paths, *written.paths)
    folders = tuple(each for each in paths if each != STDIN)
    told = events.read(folders, catalogue.entries.values())
    logs, metrics, beside = lying_at(paths, told.files)
    gathered = gather(logs, prepared.scanner, given, table, work)
    events.with_end(gathered.case, folders)
    gathered.unread.extend(events.with_unrecorded(gathered.case, folders))
    live, odd = judged(gathered, metrics, table, catalogue)
    beyond = _beyond(gathered, live, beside, catalogue, told)
    files = (*(each.path for each in logs), *(each.path for each in metrics), *beside.files)
    crashed = (*live.crashed, *beside.crashed, *odd)
    return _Seen(gathered, live, beside, told, held, written, beyond, folders, crashed, files)


@record
class _End:
    """What is known of the end of a run.

    Args:
        well: it was seen, all was read, something was judged, and nothing was found.
        untold: it was seen, and what keeps it from being called good: no metric tells what was learnt (`metrics`), so
            few values do that nobody can say where they go (`course`), or they show nothing that was learnt
            (`doctor.logs.metrics.gain`).
        witness: on what the word that all is well rests, one clause each.

    """

    well: bool
    untold: tuple[str, ...]
    witness: tuple[str, ...]


def _end(seen: _Seen, findings: Sequence[Finding], *, read_all: bool) -> _End:
    case, live = seen.gathered.case, seen.live
    alarming = any(each.severity is not INFO for each in findings)  # the user may ignore it, the run did not
    ended = bool(end_of(case)) and not alarming
    something = case.lines > 0 or bool(live.judged)  # a program that printed nothing gave nothing to judge
    whole = ended and something and read_all
    # a test of the program's own stands at its end, whether anything else shows that end or not
    unmet = bool(live.judged) and read_all and not alarming and own_test.lowest(case) is not None
    untold = ("unmet",) if unmet else tuple(_untold(case, live)) if whole else ()
    return _End(whole and not untold, untold, tuple(_witness(case, live)) if ended or unmet else ())


def _skipped(seen: _Seen, opened: Opened | None) -> tuple[Skipped, ...]:
    """Everything that was given and could not be read, or not to its end."""
    unread = (*seen.gathered.unread, *(opened.notes if opened is not None else ()))
    logs = (Skipped("logs", each) for each in unread)
    metrics = (Skipped("metrics", each) for each in seen.gathered.lost)
    return (*logs, *metrics, *seen.beside.skipped, *(Skipped("events", each) for each in seen.told.unread))


def _opened(paths: Sequence[str], work: Work | None) -> Opened | None:
    """Archives among the paths, opened; None where there are none."""
    if not any(each.lower().endswith(ARCHIVES) for each in paths):
        return None
    from doctor.logs.read.archives import ArchiveRefused, Opened, is_archive

    if work is not None and (packed := next(filter(is_archive, paths), None)):
        raise LogNotReadable(f"`{packed}`: other machines cannot open archives; unpack it where all of them see it")
    try:
        return Opened(paths)
    except ArchiveRefused as error:
        raise LogNotReadable(str(error)) from None


def _beyond(gathered: Gathered, live: Live, beside: Artifacts, catalogue: Catalogue, told: events.Told) -> Beyond:
    """What is known besides the log lines; an alarm of the guard has the role that the same rule gives it here."""
    roles = {each.problem.id: each.role for each in live.findings}
    alarms = (replace(each, role=roles.get(each.problem.id, each.role)) for each in told.alarms)
    stood = judged_stacks.find(gathered.case, catalogue.entries.values())
    still = stood or hangs.find(gathered.case, gathered.endings, live.paces, catalogue.entries.values())
    still = still or loops.find(gathered.case, catalogue.entries.values())
    still = still or begun.find(gathered.case, catalogue.entries.values())
    still = still or connections.find(gathered.case, catalogue.entries.values())
    early = taken_for_end.find(gathered.case, catalogue.entries.values())
    early = early or alike.find(gathered.case, catalogue.entries.values())
    shown = (*alarms, *((early,) if early is not None else ()), *live.findings, *beside.findings)
    # alarms stand in the order of their words, in which a consequence may come a line before its cause
    shown = tuple(sorted(shown, key=lambda each: each.role is Role.SYMPTOM))
    return Beyond(shown, told, still, frozenset(gathered.unclear), live.judged)


def _verdict(findings: Sequence[Finding], catalogue: Catalogue, *, whole: bool) -> str:
    """Whether the first finding is a known problem; notes alone are no verdict.

    Where nothing was found, a run is healthy only if everything was read and its end was seen (`whole`).
    """
    told = [each for each in findings if each.severity is not INFO]
    if not told:
        return "healthy" if whole else "unknown"
    return "unknown" if told[0].problem.id in catalogue.unknown else "known"


def _summary(case: Case, live: Live) -> Iterable[str]:
    """What was examined, one clause each."""
    if case.sources:
        yield f"{case.lines:,} line{_s(case.lines)} in {len(case.sources)} file{_s(len(case.sources))}"
    if case.world_size and case.world_size > 1:
        yield f"{case.world_size} ranks"
    if live.steps:
        first, last = live.steps
        yield f"steps {first} to {last}" if first != last else f"step {first}"
    if python := case.versions.get("python"):
        yield f"python {python}"
    for name in _PACKAGES_SHOWN:
        if version := case.versions.get(name):
            yield f"{name} {version}"


def _witness(case: Case, live: Live) -> Iterable[str]:
    """On what a word that all is well rests: where the end was seen, and which metrics were judged."""
    if end := end_of(case):
        yield f"the end was seen: {end}"
    if live.judged:
        yield f"judged: {', '.join(live.judged)}"
    if (share := own_test.lowest(case)) is not None:
        yield f"its own test at the end: {100 * share:.3g} % right"


def _untold(case: Case, live: Live) -> Iterable[str]:
    """What keeps the end of a training from being called good: that nobody can say what was learnt in it."""
    if not live.judged:
        if 0 < max((each.count for each in live.courses.values()), default=0) < _COURSE:
            yield "course"
        elif not case.marks.served:  # a server has no training to tell of
            yield "metrics"
    elif max(live.courses[name].count for name in live.judged) < _COURSE:
        yield "course"
    elif live.unlearnt:
        yield live.unlearnt
    elif seen.is_unmoved(live.courses, courses.settings_of(case)):
        yield "unmoved"


def _remarks(seen: _Seen) -> Iterable[str]:
    """What the reader must know of the logs, one clause each."""
    return (*seen.gathered.appended, *_unclear(seen.gathered), *seen.told.summary, *seen.beside.summary)


def _unclear(gathered: Gathered) -> Iterable[str]:
    for path, ends in gathered.unclear.items():
        yield f"{Path(path).name} may hold several attempts, which ended with {', '.join(ends[:MOST_ENDS])}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
