"""From paths to a diagnosis: what `doctor postmortem` does, callable without a command line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.base.record import record
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.finding import Finding
from doctor.catalogue.fix import fixable
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed, Outcome, Skipped, crash_of
from doctor.catalogue.problem import INFO
from doctor.catalogue.signature import Hit
from doctor.diagnosis.report import Diagnosis, Target
from doctor.diagnosis.suppress import Ignored, suppress
from doctor.logs import artifacts, events
from doctor.logs.artifacts import Artifacts
from doctor.logs.capsules import killed, looks, read
from doctor.logs.capsules import told as told_by_capsules
from doctor.logs.failures import hangs, spoken
from doctor.logs.failures.case import Case
from doctor.logs.failures.ends import end_of
from doctor.logs.match import problems as catalogue_module
from doctor.logs.match.problems import Catalogue
from doctor.logs.metrics import courses, loose, waste
from doctor.logs.metrics.files import MetricFileError, MetricsCsv
from doctor.logs.metrics.lines import numbered
from doctor.logs.metrics.live import Judge, Live, merged, track_of, track_of_log
from doctor.logs.metrics.sources import MetricSource, in_folder, metric_file
from doctor.logs.read import context as context_module
from doctor.logs.read.appended import Last, rows_since
from doctor.logs.read.dividing import BRIEF_FROM, Work, first_year, read_all
from doctor.logs.read.layouts import ARCHIVES, NoLogs, Source, last_attempts, sources
from doctor.logs.read.log import Reader, Settings
from doctor.logs.read.merging import case_of
from doctor.logs.read.scan import Scanner
from doctor.logs.read.streams import STDIN
from doctor.logs.recorded import Written
from doctor.logs.source import told as told_by_source
from doctor.logs.told.judged import joined
from doctor.logs.verdict import Beyond, Verdict, judge, unknown_problems

if TYPE_CHECKING:
    from doctor.logs.read.archives import Opened

_PACKAGES_SHOWN = ("torch", "trl", "vllm", "deepspeed", "accelerate", "transformers", "peft", "verl", "ray")
_MOST_ENDS = 5  # of earlier runs that are told


class NotReadable(Exception):  # noqa: N818 - the user's file is at fault, the message says how
    """A log cannot be read; the message names it."""


@record
class Postmortem:
    """A diagnosis with what it was made of; archives stay open as long as this object lives."""

    diagnosis: Diagnosis
    case: Case
    ranked: Verdict
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
        NotReadable: a log cannot be read.

    """
    started = time.monotonic()
    prepared = prepared or prepare()
    catalogue = prepared.catalogue
    given = context_module.read(context)
    opened = _opened(paths, work)
    paths = opened.paths if opened is not None else paths
    held = read.read([each for each in paths if each != STDIN], capsule_files)
    written = Written(held, [each for each in paths if each != STDIN])
    paths = (*paths, *written.paths)
    told = events.read([each for each in paths if each != STDIN], catalogue.entries.values())
    logs, metrics, beside = _given(paths, told.files)
    evidence = _read(logs, prepared.scanner, given, table, work)
    folders = [each for each in paths if each != STDIN]
    events.with_end(evidence.case, folders)
    evidence.unread.extend(events.with_unrecorded(evidence.case, folders))
    live, odd = _judged(evidence, metrics, table, catalogue)
    beyond = _beyond(evidence, live, beside, catalogue, told)
    ranked = judge(evidence.case, evidence.hits, evidence.counts, catalogue, beyond)
    unknown = unknown_problems(catalogue.entries.values())
    findings, misjudged = joined(
        ranked.findings, evidence.case, catalogue.entries, unknown, well=bool(end_of(evidence.case))
    )
    findings, misheard = spoken.told(findings, evidence.case, catalogue.entries, unknown)
    findings = told_by_capsules.told(findings, held, unknown)  # behind it: what it replaces keeps no sentence
    findings = killed.told(findings, evidence.case, folders)
    findings = looks.told(findings, folders, {each.problem.id for each in (told.standstill, beyond.still) if each})
    findings = told_by_source.told(findings, evidence.case, unknown)
    findings, doubts = _reviewed(findings, evidence.case)
    seconds = time.monotonic() - started
    skipped = (*_skipped(evidence, opened, beside, told), *held.skipped)
    crashed = (*ranked.crashed, *live.crashed, *beside.crashed, *misjudged, *misheard, *odd, *doubts)
    outcome = suppress(Outcome(findings, skipped, crashed, catalogue.problems, seconds), ignored, None)
    alarming = any(each.severity is not INFO for each in findings)  # the user may ignore it, the run did not
    ended = bool(end_of(evidence.case)) and not alarming
    judged = evidence.case.lines > 0 or bool(live.judged)  # a program that printed nothing gave nothing to judge
    whole = ended and judged and not (skipped or crashed)
    files = (*(each.path for each in logs), *(each.path for each in metrics), *beside.files)
    settings = courses.settings_of(evidence.case) if live.courses else {}
    spent = waste.wasted(live.courses, live.findings, settings, evidence.case.world_size, price)
    witness = _witness(evidence.case, live) if ended else ()
    untold = whole and _untold(evidence.case, live)
    seen = (
        *_summary(evidence.case, live),
        *witness,
        *(each.clause for each in spent),
        *evidence.appended,
        *_unclear(evidence),
        *told.summary,
        *beside.summary,
    )
    target = Target(
        files=files,
        run_dir=run_dir,
        summary=seen,
        stands_for=(*(opened.names if opened is not None else ()), *written.names),
        stopped=None if told.stop is None else told.stop.as_data(),
    )
    diagnosis = Diagnosis(
        "postmortem", target, outcome, dict(catalogue.entries), language, seconds,
        fixes=fixable(catalogue.entries.values()),
        verdict=_verdict(outcome.findings, catalogue, whole=whole and not untold),
        chain=tuple(vars(each) for each in ranked.chain), series=live.series,
        not_seen=("metrics", *live.not_seen) if untold else live.not_seen,
        unjudged=live.unjudged, wasted=tuple(each.as_data() for each in spent),
    )  # fmt: skip
    return Postmortem(diagnosis, evidence.case, ranked, opened, held, written)


def _skipped(evidence: _Evidence, opened: Opened | None, beside: Artifacts, told: events.Told) -> tuple[Skipped, ...]:
    """Everything that was given and could not be read, or not to its end."""
    unread = (*evidence.unread, *(opened.notes if opened is not None else ()))
    logs = (Skipped("logs", each) for each in unread)
    metrics = (Skipped("metrics", each) for each in evidence.lost)
    return (*logs, *metrics, *beside.skipped, *(Skipped("events", each) for each in told.unread))


def _opened(paths: Sequence[str], work: Work | None) -> Opened | None:
    """Archives among the paths, opened; None where there are none."""
    if not any(each.lower().endswith(ARCHIVES) for each in paths):
        return None
    from doctor.logs.read.archives import Opened, Refused, is_archive

    if work is not None and (packed := next(filter(is_archive, paths), None)):
        raise NotReadable(f"`{packed}`: other machines cannot open archives; unpack it where all of them see it")
    try:
        return Opened(paths)
    except Refused as error:
        raise NotReadable(str(error)) from None


def _beyond(evidence: _Evidence, live: Live, beside: Artifacts, catalogue: Catalogue, told: events.Told) -> Beyond:
    """What is known besides the log lines; an alarm of the guard has the role that the same rule gives it here."""
    roles = {each.problem.id: each.role for each in live.findings}
    alarms = (replace(each, role=roles.get(each.problem.id, each.role)) for each in told.alarms)
    still = hangs.find(evidence.case, evidence.endings, live.paces, catalogue.entries.values())
    return Beyond((*alarms, *live.findings, *beside.findings), told, still, frozenset(evidence.unclear), live.judged)


def _reviewed(findings: tuple[Finding, ...], case: Case) -> tuple[tuple[Finding, ...], tuple[Crashed, ...]]:
    """The findings whose remedies fit what logs and context say; a bug of ours costs only that."""
    if not findings:
        return findings, ()
    from doctor.diagnosis.remedies import reviewed
    from doctor.logs.failures.situation import situation_of

    try:
        return reviewed(findings, situation_of(case))[0], ()
    except Exception as exc:  # noqa: BLE001 - the diagnosis is worth more than the check of its remedies
        return findings, (crash_of("remedies", exc),)


def _verdict(findings: Sequence[Finding], catalogue: Catalogue, *, whole: bool) -> str:
    """Whether the first finding is a known problem; notes alone are no verdict.

    Where nothing was found, a run is healthy only if everything was read and its end was seen (`whole`).
    """
    told = [each for each in findings if each.severity is not INFO]
    if not told:
        return "healthy" if whole else "unknown"
    return "unknown" if told[0].problem.id in unknown_problems(catalogue.entries.values()) else "known"


@record
class _Evidence:
    """What the logs hold, before anything is judged but their metrics.

    `lost`: why metric lines are missing; `unread`: why logs are; `sources`: how many places the logs take; `appended`:
    of which files only the last run counts; `unclear`: which may hold several attempts, and what these ended with.
    """

    case: Case
    hits: list[tuple[int, Hit]]
    counts: dict[int, int]
    judge: Judge
    endings: list[hangs.Ending]
    sources: int
    lost: list[str]
    unread: list[str]
    appended: list[str]
    unclear: dict[str, tuple[str, ...]]


def _given(paths: Sequence[str], told: Sequence[str] = ()) -> tuple[list[Source], list[MetricSource], Artifacts]:
    """Logs, files of metrics, and what else a run leaves at the given paths.

    A folder needs to hold one of them, or one of the files that have told something already.
    """
    beside = artifacts.read([path for path in paths if path != STDIN])
    metrics: list[MetricSource] = []
    logs: list[str] = []
    for path in paths:
        here = metric_file(path)
        inside = in_folder(path) if Path(path).is_dir() else [here] if here else []
        metrics += inside
        others = (*beside.files, *told)
        known = inside or any(each == path or each.startswith(f"{path.rstrip('/')}/") for each in others)
        if not known or (Path(path).is_dir() and _holds_logs(path)):
            logs.append(path)
    if not (logs or metrics or told or beside.summary or beside.skipped or beside.crashed):
        weights = ", ".join(f"`{each}`" for each in beside.files)
        msg = f"{weights}: weights, and no checkpoint around them that the doctor knows; give the log of the run"
        raise NoLogs(msg)
    return last_attempts([each for each in sources(logs) if each.path not in beside.files]), metrics, beside


def _holds_logs(path: str) -> bool:
    try:
        return bool(sources([path]))
    except NoLogs:
        return False


def _read(
    found: Sequence[Source],
    scanner: Scanner,
    given: context_module.Given,
    table: MetricsCsv | None = None,
    work: Work | None = None,
) -> _Evidence:
    """Read every source once and put together what they say."""
    judge = Judge()
    year = first_year(found)
    scanner = scanner if table is None else scanner.for_a_table()
    reader = Reader(scanner, Settings(year, brief=len(found) >= BRIEF_FROM, rows=table is not None))
    readings = read_all(found, reader, judge, work)
    unread = [each.error for each in readings if each.error]
    if unread and len(unread) == len(readings):
        raise NotReadable("; ".join(unread))
    told = [(place, *pair) for place, pair in enumerate(zip(found, readings, strict=True)) if not pair[1].error]
    unread += dict.fromkeys(each.cut_off for _, _, each in told if each.cut_off)
    lost = list(dict.fromkeys(each.lost for _, _, each in told if each.lost))
    case, hits = case_of(given, [source for _, source, _ in told], [each for *_, each in told])
    counts: dict[int, int] = {}
    for place, source, each in told:
        if table is not None:
            rows = numbered(*each.told)
            rows = rows_since(rows, each.last.line) if each.last is not None else rows
            judge.take(place, track_of_log(source, rows, each.year, table, labelled=each.labelled))
        for signature, count in each.counts.items():
            counts[signature] = counts.get(signature, 0) + count
    last = max((each.attempt for each in found), default=0)
    appended = [f"the last of {last + 1} attempts of torchrun alone"] if last else []
    appended += [_last_of(source, each.last) for _, source, each in told if each.last is not None]
    endings = [each.ending for *_, each in told]
    several = {source.path: each.unclear for _, source, each in told if each.unclear}
    return _Evidence(case, hits, counts, judge, endings, len(found), lost, unread, appended, several)


def _judged(
    evidence: _Evidence, metrics: Sequence[MetricSource], table: MetricsCsv | None, catalogue: Catalogue
) -> tuple[Live, tuple[Crashed, ...]]:
    """What the live rules say to all metrics, those of the logs and then those of files of metrics; and the laws."""
    total = _of_excerpts(evidence)
    for place, metric in enumerate(metrics, evidence.sources):
        rows = _readable(metric, evidence.lost)
        evidence.judge.take(place, track_of(metric.path, table.passed(rows) if table is not None else rows))
    live = evidence.judge.finish()
    found, crashed = courses.judged(evidence.case, live.courses, total, catalogue.entries)
    return (replace(live, findings=merged((*found, *live.findings))) if found else live), crashed


def _of_excerpts(evidence: _Evidence) -> int | None:
    """Judge the metrics of short logs in a notation of their own; how many steps their run is to have."""
    case, total = evidence.case, None
    if case.lines > loose.MOST_LINES or case.failures:
        return None
    for place, (source, kept) in enumerate(zip(case.sources, case.kept, strict=False)):
        if not evidence.judge.knows(place):
            excerpt = loose.read(source.path, kept)
            evidence.judge.take(place, track_of(source.path, excerpt.rows))
            total = excerpt.total if excerpt.total is not None else total
    return total


def _readable(metric: MetricSource, lost: list[str]) -> Iterator[MetricRow]:
    """Rows of a file of metrics, as far as it can be read; why it cannot be read further is taken down."""
    try:
        yield from metric.rows()
    except (MetricFileError, OSError) as error:
        lost.append(str(error))


def read_hits(paths: Sequence[str], prepared: Prepared) -> list[tuple[int, Hit]]:
    """What the patterns alone hit, whatever comes of it: (position of the signature, hit)."""
    return _read(sources(paths), prepared.scanner, context_module.Given()).hits


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
    yield f"the end was seen: {end_of(case)}"
    if live.judged:
        yield f"judged: {', '.join(live.judged)}"


def _untold(case: Case, live: Live) -> bool:
    """Whether a training says that it has ended and no metric of it was judged: nobody can say that it went well."""
    said = case.marks.success
    return said is not None and "train" in said.text.lower() and not (live.judged or case.marks.served)


def _last_of(source: Source, last: Last) -> str:
    told = ""
    if len(last.ends) > 1:
        told = f", the ones before it ended with {', '.join(last.ends[:_MOST_ENDS])}"
    elif last.before:
        told = f", the one before it ended with {last.before}"
    return f"the last of {last.runs} runs in {Path(source.path).name} (from line {last.line:,}{told})"


def _unclear(evidence: _Evidence) -> Iterable[str]:
    for path, ends in evidence.unclear.items():
        yield f"{Path(path).name} may hold several attempts, which ended with {', '.join(ends[:_MOST_ENDS])}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
