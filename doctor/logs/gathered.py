"""What lies at the given paths, read once: logs, metrics and what else a run leaves, before the order of causes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from doctor.base.record import record, replace
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.outcome import Crashed
from doctor.catalogue.problem import INFO
from doctor.catalogue.signature import Hit
from doctor.logs import artifacts
from doctor.logs.artifacts import Artifacts
from doctor.logs.failures import hangs
from doctor.logs.failures.case import Case
from doctor.logs.match.problems import Catalogue
from doctor.logs.metrics import anew, courses, loose, plain
from doctor.logs.metrics.files import MetricFileError, MetricsCsv
from doctor.logs.metrics.lines import numbered
from doctor.logs.metrics.live import Judge, Live, merged, track_of, track_of_log
from doctor.logs.metrics.sources import MetricSource, in_folder, metric_file
from doctor.logs.read import context as context_module
from doctor.logs.read.appended import Last, rows_since
from doctor.logs.read.dividing import BRIEF_FROM, Work, first_year, read_all
from doctor.logs.read.layouts import LogSource, NoLogs, last_attempts, sources
from doctor.logs.read.log import Reader, ReadSettings
from doctor.logs.read.merging import case_of
from doctor.logs.read.scan import Scanner
from doctor.logs.read.streams import STDIN

#: of earlier runs that are named
MOST_ENDS = 5


class LogNotReadable(Exception):  # noqa: N818 - the user's file is at fault, the message says how
    """A log cannot be read; the message names it."""


@record
class Gathered:
    """What the logs hold, before anything is judged but their metrics.

    `lost`: why metric lines are missing; `unread`: why logs are; `sources`: how many places the logs take; `appended`:
    of which files only the last run counts; `unclear`: which may hold several attempts, and what these ended with;
    `year`: completes stamps that leave it out.
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
    year: int


def lying_at(paths: Sequence[str], told: Sequence[str] = ()) -> tuple[list[LogSource], list[MetricSource], Artifacts]:
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


def gather(
    found: Sequence[LogSource],
    scanner: Scanner,
    given: context_module.Given,
    table: MetricsCsv | None = None,
    work: Work | None = None,
) -> Gathered:
    """Read every source once and put together what they say."""
    judge = Judge()
    year = first_year(found)
    scanner = scanner if table is None else scanner.for_a_table()
    reader = Reader(scanner, ReadSettings(year, brief=len(found) >= BRIEF_FROM, rows=table is not None))
    readings = read_all(found, reader, judge, work)
    unread = [each.error for each in readings if each.error]
    if unread and len(unread) == len(readings):
        raise LogNotReadable("; ".join(unread))
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
    return Gathered(
        case, hits, counts, judge, endings, len(found), lost, unread, appended, several, year or time.gmtime().tm_year
    )


def _last_of(source: LogSource, last: Last) -> str:
    told = ""
    if len(last.ends) > 1:
        told = f", the ones before it ended with {', '.join(last.ends[:MOST_ENDS])}"
    elif last.before:
        told = f", the one before it ended with {last.before}"
    return f"the last of {last.runs} runs in {Path(source.path).name} (from line {last.line:,}{told})"


def judged(
    gathered: Gathered, metrics: Sequence[MetricSource], table: MetricsCsv | None, catalogue: Catalogue
) -> tuple[Live, tuple[Crashed, ...]]:
    """What the live rules say to all metrics, those of the logs and then those of files of metrics; and the laws."""
    total = _in_words(gathered)
    for place, metric in enumerate(metrics, gathered.sources):
        rows = _rows_of(metric, gathered.lost)
        gathered.judge.take(place, track_of(metric.path, table.passed(rows) if table is not None else rows))
    live = gathered.judge.finish()
    found, crashed = courses.judged(gathered.case, live, total, catalogue.entries)
    if not found and all(each.severity is INFO for each in live.findings):
        # where a few lines go is a symptom: it is told where nothing says why
        found, crashed = courses.judged(gathered.case, live, total, catalogue.entries, "of_quoted")
    behind = [each for each in found if each.severity is INFO]  # a note says less than a rule that saw it happen
    before = [each for each in found if each.severity is not INFO]
    return (replace(live, findings=merged((*before, *live.findings, *behind))) if found else live), crashed


def _in_words(gathered: Gathered) -> int | None:
    """Judge metrics of short logs in a notation of their own; how many steps their run is to have."""
    case, total = gathered.case, None
    quoted = case.lines <= loose.MOST_LINES and not case.failures
    for place, (source, kept) in enumerate(zip(case.sources, case.kept, strict=False)):
        if gathered.judge.knows(place) or not kept or kept[-1][0] > loose.MOST_LINES:
            continue
        excerpt = loose.read(source.path, kept) if quoted else loose.Excerpt([], None)
        rows = excerpt.rows or plain.read(source.path, kept, gathered.year)
        again = anew.fallen_back(anew.of_rows(rows), kept, source.path) if not excerpt.rows else None
        gathered.judge.take(place, track_of(source.path, rows, again))
        total = excerpt.total if excerpt.total is not None else total
    return total


def _rows_of(metric: MetricSource, lost: list[str]) -> Iterator[MetricRow]:
    """Rows of a file of metrics, as far as it can be read; why it cannot be read further is taken down."""
    try:
        yield from metric.rows()
    except (MetricFileError, OSError) as error:
        lost.append(str(error))


def read_hits(paths: Sequence[str], scanner: Scanner) -> list[tuple[int, Hit]]:
    """What the patterns alone hit, whatever comes of it: (position of the signature, hit)."""
    return gather(sources(paths), scanner, context_module.Given()).hits
