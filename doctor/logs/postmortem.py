"""From paths to a diagnosis: what `doctor postmortem` does, callable without a command line."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from doctor.core.finding import Finding, Role
from doctor.core.fixes import fixable
from doctor.core.index import Entry
from doctor.core.outcome import Outcome, Skipped
from doctor.core.problem import INFO
from doctor.core.report import Diagnosis, Target
from doctor.core.signature import Hit
from doctor.core.suppress import Ignored, suppress
from doctor.logs import artifacts, events, hangs
from doctor.logs import catalogue as catalogue_module
from doctor.logs import context as context_module
from doctor.logs.artifacts import Artifacts
from doctor.logs.case import Builder, Case, line_of
from doctor.logs.catalogue import Catalogue
from doctor.logs.layouts import NoLogs, Source, sources
from doctor.logs.live import Judge, Live, merged, turned
from doctor.logs.matcher import RawHit
from doctor.logs.metric_files import MetricFileError, MetricsCsv
from doctor.logs.metric_sources import MetricSource, in_folder, metric_file
from doctor.logs.prefixes import strip
from doctor.logs.ranking import Ranked, rank
from doctor.logs.scan import Scanned, Scanner
from doctor.logs.streams import STDIN

_YEAR = re.compile(r"\b(20[1-9]\d)[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])\b")
_PACKAGES_SHOWN = ("torch", "trl", "vllm", "deepspeed", "accelerate", "transformers", "peft", "verl", "ray")


class NotReadable(Exception):  # noqa: N818 - the user's file is at fault, the message says how
    """A log cannot be read; the message names it."""


@dataclass(frozen=True)
class Postmortem:
    """A diagnosis with what it was made of."""

    diagnosis: Diagnosis
    case: Case
    ranked: Ranked

    @property
    def breaks_off(self) -> bool:
        """Whether all there is to say is that the log stops."""
        return self.ranked.verdict == "unknown" and not self.ranked.chain


@dataclass(frozen=True)
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

    Raises:
        NoLogs: nothing to read at the given paths.
        NotReadable: a log cannot be read.

    """
    started = time.monotonic()
    prepared = prepared or prepare()
    catalogue = prepared.catalogue
    given = context_module.read(context)
    told = events.read([each for each in paths if each != STDIN], catalogue.entries.values())
    logs, metrics, beside = _given(paths, told.files)
    evidence = _read(logs, prepared.scanner, given)
    events.with_end(evidence.case, (each for each in paths if each != STDIN))
    live = _judged(evidence, metrics, table)
    ranked, findings = _findings(evidence, live, beside, catalogue, told)
    seconds = time.monotonic() - started
    lost = (*(Skipped("logs", each) for each in evidence.unread), *(Skipped("metrics", each) for each in evidence.lost))
    skipped = (*lost, *beside.skipped)
    crashed = (*ranked.crashed, *live.crashed, *beside.crashed, *told.crashed)
    outcome = suppress(Outcome(findings, skipped, crashed, catalogue.problems, seconds), ignored, None)
    files = (*(each.path for each in logs), *(each.path for each in metrics), *beside.files)
    target = Target(
        files=files, run_dir=run_dir, summary=(*_summary(evidence.case, live), *told.summary, *beside.summary)
    )
    diagnosis = Diagnosis(
        "postmortem", target, outcome, dict(catalogue.entries), language, seconds,
        fixes=fixable(catalogue.entries.values()), verdict=_verdict(outcome.findings, catalogue),
        chain=tuple(vars(each) for each in ranked.chain), series=live.series,
    )  # fmt: skip
    return Postmortem(diagnosis, evidence.case, ranked)


def _findings(
    evidence: _Evidence, live: Live, beside: Artifacts, catalogue: Catalogue, told: events.Told
) -> tuple[Ranked, tuple[Finding, ...]]:
    """What signatures, metrics, the guard, and pauses say together, root cause first; notes come last."""
    roles = {each.problem.id: each.role for each in live.findings}
    alarms_told = (replace(each, role=roles.get(each.problem.id, each.role)) for each in told.alarms)
    shown = (*alarms_told, *live.findings, *beside.findings)
    alarms = [each for each in shown if each.severity is not INFO]
    ranked = rank(evidence.case, evidence.hits, evidence.counts, catalogue, alarms)
    found = turned(ranked.findings, alarms, _followed(ranked, catalogue))
    found = events.after_stop(found, told, _unknown(catalogue))
    still = told.standstill or hangs.find(evidence.case, live.paces, catalogue.entries.values())
    if still is not None:
        follows = _followed(ranked, catalogue)
        found = hangs.placed(found, still, evidence.case, unknown=_unknown(catalogue), follows=follows)
    notes = [replace(each, role=Role.CONTRIBUTING) for each in shown if each.severity is INFO]
    return ranked, events.with_place(merged((*found, *notes)), told)


def _verdict(findings: Sequence[Finding], catalogue: Catalogue) -> str:
    """Whether the first finding is a known problem; notes alone are no verdict."""
    told = [each for each in findings if each.severity is not INFO]
    if not told:
        return "healthy"
    return "unknown" if told[0].problem.id in _unknown(catalogue) else "known"


def _unknown(catalogue: Catalogue) -> set[str]:
    """Ids of the problems that say only that nothing is known."""
    return {each.id for each in catalogue.entries.values() if each.area == "unknown"}


def _followed(ranked: Ranked, catalogue: Catalogue) -> set[str]:
    """Ids and areas of problems that the first finding is a symptom of, as its signatures declare."""
    first = ranked.findings[0].problem.id if ranked.findings else ""
    declared = (each.signature.symptom_of for each in catalogue.signatures if each.problem_id == first)
    return {name for names in declared for name in names}


@dataclass(frozen=True)
class _Evidence:
    """What the logs hold, before anything is judged. `lost`: why metric lines are missing; `unread`: why logs are."""

    case: Case
    hits: list[tuple[int, Hit]]
    counts: dict[int, int]
    scanned: list[Scanned]
    year: int | None
    lost: list[str]
    unread: list[str]


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
    return [each for each in sources(logs) if each.path not in beside.files], metrics, beside


def _holds_logs(path: str) -> bool:
    try:
        return bool(sources([path]))
    except NoLogs:
        return False


def _read(found: Sequence[Source], scanner: Scanner, given: context_module.Given) -> _Evidence:
    """Scan every source once; hits get process, rank, time and frames from the case."""
    scanned = scanner.scan(found)
    unread = [each.error for each in scanned if each.error]
    if unread and len(unread) == len(scanned):
        raise NotReadable("; ".join(unread))
    found = [source for source, each in zip(found, scanned, strict=True) if not each.error]
    scanned = [each for each in scanned if not each.error]
    unread += [each.cut_off for each in scanned if each.cut_off]
    year = _year(each.lines for each in scanned)
    builder = Builder(given, year)
    for source, each in zip(found, scanned, strict=True):
        builder.add(source, each.lines, whole=each.whole, total=each.total_lines)
    case = builder.finish()
    hits: list[tuple[int, Hit]] = []
    counts: dict[int, int] = {}
    for index, each in enumerate(scanned):
        hits += [(hit.signature, _placed(case, index, hit, builder.year)) for hit in each.hits]
        for signature, count in each.counts.items():
            counts[signature] = counts.get(signature, 0) + count
    return _Evidence(case, hits, counts, scanned, year, [each.lost for each in scanned if each.lost], unread)


def _judged(evidence: _Evidence, metrics: Sequence[MetricSource], table: MetricsCsv | None) -> Live:
    """The live rules over all metrics, file by file."""
    judge = Judge(table, evidence.year)
    for source, each in zip(evidence.case.sources, evidence.scanned, strict=True):
        judge.log(source, each.metric_lines(), labelled=each.labelled)
    for metric in metrics:
        try:
            judge.file(metric.path, metric.rows())
        except (MetricFileError, OSError) as error:
            evidence.lost.append(str(error))
    return judge.finish()


def read_hits(paths: Sequence[str], prepared: Prepared) -> list[tuple[int, Hit]]:
    """What the patterns alone hit, whatever comes of it: (position of the signature, hit)."""
    return _read(sources(paths), prepared.scanner, context_module.Given()).hits


def _placed(case: Case, index: int, hit: RawHit, year: int) -> Hit:
    """A hit with process, rank, time and, where it ends a traceback, the frames of that."""
    source = case.sources[index]
    line = line_of(strip(hit.raw, slurm_labels=index in case.labelled), source, index, hit.line, year)
    failure = case.failure_at(index, hit.line, line.process)
    frames: tuple[str, ...] = ()
    if failure is not None:
        for raised in failure.chain:
            low, high = sorted((raised.line.number, raised.last_line))
            if low <= hit.line <= high:
                frames = tuple(each.key for each in raised.frames)
        line = line._replace(rank=line.rank if line.rank is not None else failure.rank)
    return Hit(
        hit.groups, line.text, source.path, hit.line, hit.offset, line.rank, line.time_ns, line.process,
        frames=frames, level=line.level,
    )  # fmt: skip


def _year(kept: Iterable[list[tuple[int, str]]]) -> int | None:
    """The year by which short stamps are completed: the first that any log states."""
    for lines in kept:
        for _, text in lines[:5000]:
            if match := _YEAR.search(text[:80]):
                return int(match[1])
    return None


def _summary(case: Case, live: Live) -> Iterable[str]:
    """What was examined, one clause each."""
    if case.sources:
        yield f"{case.lines:,} line{_s(case.lines)} in {len(case.sources)} file{_s(len(case.sources))}"
    if case.world_size and case.world_size > 1:
        yield f"{case.world_size} ranks"
    if live.steps:
        yield f"steps {live.steps[0]} to {live.steps[1]}"
    if python := case.versions.get("python"):
        yield f"python {python}"
    for name in _PACKAGES_SHOWN:
        if version := case.versions.get(name):
            yield f"{name} {version}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
