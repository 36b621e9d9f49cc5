"""The metrics of a run that is over: the live rules over every source of them, and their time lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import mutable, record, replace
from doctor.catalogue.columns import MetricRow, Stretch, points_of, stretches
from doctor.catalogue.courses import Anew, Course
from doctor.catalogue.finding import Finding
from doctor.catalogue.outcome import Crashed
from doctor.catalogue.rules import RuleEngine
from doctor.catalogue.series import Point
from doctor.logs.failures.hangs import Pace
from doctor.logs.lines.prefixes import Stripped, strip
from doctor.logs.metrics import gain, seen
from doctor.logs.metrics.files import MetricsCsv
from doctor.logs.metrics.lines import ToldRows
from doctor.logs.metrics.names import shared
from doctor.logs.metrics.scalers import Scalers, is_of_scaler
from doctor.logs.metrics.steps import MetricReader
from doctor.logs.metrics.tables import Table, TableStretch
from doctor.logs.metrics.timeline import Series, Timeline, thinned
from doctor.logs.metrics.wanted import DRAWN, FURTHER, USUAL, rules
from doctor.logs.read.layouts import LogSource

MOST_SHOWN, MOST_POINTS_SHOWN = 12, 600
_MOST_EVIDENCE, _MOST_JUDGED = 3, 6
_MOST_KINDS = 1000
#: of so few rows, columns would cost more than they spare
FEW_ROWS = 8
#: how many steps a trainer has made beside a server that logs no loss itself
_BESIDE = "beside/trainer_steps"
_ENGINE = later(rb"\bEngine (\d{1,4}):")


@record
class Live:
    """What the metrics say.

    Args:
        findings: one a problem, in the order of the rule engine, source after source; evidence of all sources joined.
        crashed: rules that raised.
        series: metrics worth drawing, see `doctor.diagnosis.schema`.
        steps: first and last step of the longest source, None where none tells steps.
        paces: when the metric lines of each log were written, where they carry stamps.
        judged: names of the usual metrics that were told and that rules have judged, the first few.
        not_seen: what the metrics cannot tell of, so that "healthy" does not cover it, see `doctor.logs.metrics.seen`.
        unjudged: metrics that no rule judges, in alphabetical order.
        courses: the metrics that rules judge or reports draw, by name.
        anew: where a run that names a checkpoint begins from nothing.
        unlearnt: what keeps them from showing that the run learnt, see `doctor.logs.metrics.gain`.

    """

    findings: tuple[Finding, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    series: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[int, int] | None = None
    paces: tuple[Pace, ...] = ()
    judged: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    courses: Mapping[str, Course] = field(default_factory=dict)
    unlearnt: str = gain.UNSHOWN
    anew: Anew | None = None


@mutable
class Track:
    """One source of metrics: a log, or a file of metrics. Each is a series of its own.

    Args:
        source: its path.
        engine: judges it.
        timeline: what is drawn of it.
        owner: metric -> the first rank that told it.
        pace: when a log's metric lines were written; None for a file of metrics.
        losses: how many values of the loss it holds.
        names: of its rows, one kind of rows each.
        anew: where a run that names a checkpoint begins from nothing.
        findings, crashed: what came of it, once it is closed; then there is no engine any more.

    """

    source: str
    engine: RuleEngine | None
    timeline: Timeline = field(default_factory=Timeline)
    owner: dict[str, int] = field(default_factory=dict)
    pace: Pace | None = None
    losses: int = 0
    names: set[tuple[str, ...]] = field(default_factory=set)
    anew: Anew | None = None
    findings: tuple[Finding, ...] = ()
    crashed: Mapping[str, str] = field(default_factory=dict)

    def take(self, rows: Iterable[MetricRow]) -> None:
        """Judge rows, and keep those of the first rank that told the metric for the time line."""
        assert self.engine is not None  # noqa: S101 - for the type checker: it is not closed yet
        for together in stretches(rows):
            if len(self.names) < _MOST_KINDS:
                self.names.update({row[1] for row in together})
            if len(together) < FEW_ROWS:
                self._take_points(self.engine, (point for row in together for point in points_of(row)))
            else:
                self._take_stretch(self.engine, Stretch(together), together[0].rank)
        self.losses = self.timeline.series["loss"].count if "loss" in self.timeline.series else 0

    def take_together(self, batches: Iterable[Table | list[MetricRow]]) -> None:
        """The same with rows that come by the hundred, as columns where they can."""
        assert self.engine is not None  # noqa: S101 - likewise
        for batch in batches:
            if not isinstance(batch, Table) or len(batch) < FEW_ROWS or not batch.is_stretch:
                self.take(batch)
                continue
            if len(self.names) < _MOST_KINDS:
                self.names.update(batch.kinds[each] for each in batch.told)
            self._take_stretch(self.engine, TableStretch(batch), batch.rank)
        self.take(())

    def _take_stretch(self, engine: RuleEngine, stretch: Stretch, rank: int | None) -> None:
        engine.feed_stretch(stretch)
        columns = stretch.columns
        if rank is not None:
            columns = {name: each for name, each in columns.items() if self.owner.setdefault(name, rank) == rank}
        self.timeline.add_columns(columns, self._may_be_drawn)

    def _take_points(self, engine: RuleEngine, points: Iterable[Point]) -> None:
        """The same point by point."""
        feed, add, owner = engine.feed, self.timeline.add, self.owner
        for point in points:
            feed(point)
            rank = point[4]
            if rank is None or owner.setdefault(point[0], rank) == rank:
                add(point, self._may_be_drawn)

    def _may_be_drawn(self, name: str) -> bool:
        return name in DRAWN or (self.engine is not None and self.engine.wants(name))

    def close(self, trainer_steps: int = 0) -> None:
        """Ask for the rules' last words.

        Args:
            trainer_steps: how many values of the loss a trainer beside it told, 0 where this is the trainer.

        """
        if self.engine is None:
            return
        if trainer_steps and not self.losses:
            self.engine.feed(Point(_BESIDE, trainer_steps, source=self.source))
        self.engine.close()
        self.findings, self.crashed, self.engine = tuple(self.engine.findings), self.engine.crashed, None

    def settle(self) -> None:
        """Close it where nothing that another source tells changes what comes of it."""
        if self.engine is not None and (self.losses or not self.engine.waits_for(_BESIDE)):
            self.close()


def track_of(path: str, rows: Iterable[MetricRow], anew: Anew | None = None) -> Track | None:
    """One source of metrics, judged as far as it can be alone; None where it holds none. `anew` is as in `Track`."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return None
    track = Track(path, RuleEngine(rules()))
    track.take(chain((first,), rows))
    track.anew = anew
    track.settle()
    return track


def track_of_log(source: LogSource, told: Iterable[ToldRows], year: int, table: MetricsCsv | None = None, *,
                 labelled: bool = False, anew: Anew | None = None) -> Track | None:  # fmt: skip
    """The metric lines of one log, judged; see `track_of`.

    Args:
        source: the log.
        told: its metric lines.
        year: completes stamps that leave it out.
        table: where every metric is written.
        labelled: whether srun wrote a task number before each line.
        anew: as in `Track`.

    """
    pace = Pace(source.path)
    names: set[tuple[str, ...]] = set()
    batches = rows_of(source, _noting(told, names), year, pace, labelled=labelled)
    if table is not None:
        track = track_of(source.path, table.passed(chain.from_iterable(batches)))
    else:
        first = next(batches, None)
        track = None if first is None else Track(source.path, RuleEngine(rules()))
        if track is not None and first is not None:
            track.take_together(chain((first,), batches))
            track.settle()
    if track is not None and pace.rows:
        track.pace = pace
    if track is not None:
        track.names |= names
        track.anew = anew
    return track


def _noting(told: Iterable[ToldRows], names: set[tuple[str, ...]]) -> Iterator[ToldRows]:
    """The same, with the names of all metrics noted, those that nobody asks for among them."""
    for each in told:
        if len(names) < _MOST_KINDS:
            names.update(each.kinds)
        yield each


class Judge:
    """Takes sources of metrics in any order; of many series of one metric only the longest is kept."""

    def __init__(self) -> None:
        self._tracks: list[tuple[int, Track]] = []
        self._longest: dict[str, tuple[int, Track, Series]] = {}
        self._first: dict[str, tuple[int, int]] = {}  # metric -> where it is told first, so that the order is that

    def take(self, place: int, track: Track | None) -> None:
        """Take a source in; `place` is its position among all of them."""
        if track is None:
            return
        self._tracks.append((place, track))
        for number, (name, series) in enumerate(track.timeline.series.items()):
            self._first[name] = min(self._first.get(name, (place, number)), (place, number))
            known = self._longest.get(name)
            if known is None or (series.count, -place) > (known[2].count, -known[0]):
                self._longest[name] = (place, track, series)
        track.timeline.series = {}  # thousands of ranks may tell the same metrics

    def knows(self, place: int) -> bool:
        """Whether the source at a position told any metric."""
        return any(known == place for known, _ in self._tracks)

    def finish(self) -> Live:
        """What came of all sources."""
        self._tracks.sort(key=lambda each: each[0])
        tracks = [track for _, track in self._tracks]
        steps = max((track.losses for track in tracks), default=0)
        for track in tracks:
            track.close(steps)
        findings = merged(finding for track in tracks for finding in track.findings)
        crashed = {name: error for track in tracks for name, error in track.crashed.items()}
        longest = {name: self._longest[name][1:] for name in sorted(self._longest, key=self._first.__getitem__)}
        courses = {name: _course(series, track.source) for name, (track, series) in longest.items() if series.first}
        told = {name for track in tracks for names in track.names for name in names} - seen.rounded_away(courses)
        return Live(
            findings,
            tuple(Crashed(name, error, "") for name, error in crashed.items()),
            tuple(_series(longest, findings)),
            _steps(tracks),
            tuple(track.pace for track in tracks if track.pace is not None),
            tuple(name for name in USUAL if name in longest and longest[name][1].count > 1)[:_MOST_JUDGED],
            *seen.witness(told),
            courses,
            gain.missing({name: series for name, (_, series) in longest.items()}),
            next((track.anew for track in tracks if track.anew is not None), None),
        )


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding a problem: the first of the worst ones, with what the others quote behind its own evidence."""
    kept: dict[str, Finding] = {}
    for each in findings:
        known = kept.get(each.problem.id)
        if known is None:
            kept[each.problem.id] = each
            continue
        first, second = (each, known) if each.severity.rank < known.severity.rank else (known, each)
        kept[each.problem.id] = joined(first, second)
    return tuple(kept.values())


def joined(first: Finding, second: Finding) -> Finding:
    """`first` with the evidence of `second`, and its step and rank where `first` names none."""
    evidence = dict.fromkeys((*first.evidence, *second.evidence))
    where = first.where
    where = replace(where, step=second.where.step) if where.step is None else where
    return replace(first, evidence=tuple(evidence)[: max(_MOST_EVIDENCE, len(first.evidence))], where=where)


def rows_of(
    source: LogSource, told: Iterable[ToldRows], year: int, pace: Pace, *, labelled: bool
) -> Iterator[Table | list[MetricRow]]:
    """Rows of one log by the hundred; never none."""
    reader, servers, scalers = MetricReader(), _Servers(labelled), Scalers()
    for lines in told:
        batch: Table | list[MetricRow]
        if all(map(_is_one_row, lines.kinds)):
            batch = _together(source, lines, reader, servers, year, pace)
        else:
            batch = [*_one_by_one(source, lines, reader, servers, scalers, year, pace)]
        if batch:
            yield batch


def _one_by_one(
    source: LogSource, lines: ToldRows, reader: MetricReader, servers: _Servers, scalers: Scalers, year: int, pace: Pace
) -> Iterator[MetricRow]:
    """Rows of lines of which one may be several rows, or none."""
    for each in lines:
        if each.bar is not None:
            reader.see(each.bar)
        if _is_of_server(each.row.names) and not servers.counts(each.head):
            continue
        head = _of_head(each.head, servers.labelled)
        rank = head.rank if head.rank is not None else source.rank
        place = f"{source.path}:{each.line}"
        t_ns = head.time_ns(year)
        rows = reader.rows(each.row, each.behind, rank=rank, t_ns=t_ns, source=place)
        if t_ns is not None:
            pace.see(t_ns, rows[0].step, each.line)
        if is_of_scaler(each.row.names) and not scalers.counts(each.row, rank, each.line, t_ns):
            rows = _without_scale(rows)
        yield from rows


def _is_one_row(names: tuple[str, ...]) -> bool:
    """Whether a line with these metrics is one row."""
    return "number of skipped iterations" not in names and len(set(names)) == len(names) and not is_of_scaler(names)


def _without_scale(rows: Iterable[MetricRow]) -> list[MetricRow]:
    """The same without what belongs to an engine that is not known; DeepSpeed's lines tell the rate besides."""
    rated = [(row, row.names.index("learning_rate")) for row in rows if "learning_rate" in row.names]
    return [row._replace(names=shared(("learning_rate",)), values=(row.values[at],)) for row, at in rated]


def _is_of_server(names: tuple[str, ...]) -> bool:
    return names[0].startswith("vllm/")


class _Servers:
    """Of several vLLM engines in a log only the first counts, for each has a series of its own."""

    def __init__(self, labelled: bool) -> None:
        self.labelled = labelled
        self._first: tuple[str, bytes] | None = None

    def counts(self, head: bytes) -> bool:
        """Whether the line with this head is the first engine's."""
        told = _ENGINE.search(head)
        engine = told[1] if told else b""
        if self._first is not None and engine != self._first[1]:
            return False
        mine = (_of_head(head, self.labelled).process, engine)
        self._first = self._first or mine
        return mine == self._first


def _together(
    source: LogSource, told: ToldRows, reader: MetricReader, servers: _Servers, year: int, pace: Pace
) -> Table:
    """The same for lines that are one row each, all at once."""
    names = [told.kinds[kind] for kind in told.kind]
    steps = reader.steps(names, told.steps, told.bars, told.drawn, told.followed)
    if any(map(_is_of_server, told.kinds)):
        heads = told.heads or [b""] * len(told)
        kept = [at for at, name in enumerate(names) if not _is_of_server(name) or servers.counts(heads[at])]
        if len(kept) < len(steps):
            told, steps = told.only(kept), [steps[at] for at in kept]
    times: list[int | None] | None = None
    ranks: list[int | None] | None = None
    rank = source.rank
    if told.heads is not None:
        known = {head: _of_head(head, servers.labelled) for head in dict.fromkeys(told.heads)}
        if len({source.rank if each.rank is None else each.rank for each in known.values()}) > 1:
            ranks = [source.rank if known[head].rank is None else known[head].rank for head in told.heads]
        elif known:
            rank = next((each.rank for each in known.values() if each.rank is not None), source.rank)
        stamps = {head: each.time_ns(year) for head, each in known.items()}
        if any(each is not None for each in stamps.values()):
            times = [stamps[head] for head in told.heads]
            for t_ns, step, line in zip(times, steps, told.lines, strict=True):
                if t_ns is not None:
                    pace.see(t_ns, step, line)
    return Table(told.kinds, told.kind, told.values, steps, times, ranks, rank, source.path, told.lines)


@lru_cache(maxsize=256)
def _of_head(head: bytes, labelled: bool) -> Stripped:
    """Rank, process and time from what stands before the metrics; the same head comes again and again."""
    return strip(head.decode("utf-8", "replace") + "{'", slurm_labels=labelled)


def _steps(tracks: Sequence[Track]) -> tuple[int, int] | None:
    """First and last step of the source that has seen the most of them."""
    known = [
        (each.timeline.first_step, each.timeline.last_step)
        for each in tracks
        if each.timeline.first_step is not None and each.timeline.last_step is not None
    ]
    return max(known, key=lambda pair: pair[1] - pair[0], default=None)


def _series(longest: Mapping[str, tuple[Track, Series]], findings: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """The metrics that findings judge, then the usual ones; of several sources the one that holds most values."""
    judging: dict[str, list[str]] = {}
    for finding in findings:
        for name in _judged(finding, longest):
            judging.setdefault(name, []).append(finding.problem.id)
    names = dict.fromkeys((*judging, *USUAL, *FURTHER))
    for name in [each for each in names if each in longest][:MOST_SHOWN]:
        track, series = longest[name]
        yield _drawable(series, track.source, judging.get(name, []))


def _judged(finding: Finding, known: Iterable[str]) -> Iterator[str]:
    """Names of the metrics that a finding's rule looks at."""
    for wanted in RuleEngine(rules()).metrics_of(finding.problem.id):
        if wanted.endswith("*"):
            yield from [each for each in known if each.startswith(wanted[:-1]) and not each.endswith("/std")][:2]
        elif wanted in known:
            yield wanted


def _drawable(series: Series, source: str, findings: list[str]) -> dict[str, Any]:
    """One metric as the report holds it; values that are no numbers are told by the step of the first of them."""
    steps = [each for each in (series.first_nan, series.first_inf) if each is not None]
    return {
        "name": series.name,
        "source": source,
        "x": "sample" if series.last_step is None else "step",
        "count": series.count,
        "span": _span(series),
        "first": _finite(series.first.value if series.first else None),
        "last": _finite(series.last_value),
        "findings": findings,
        "points": [list(each) for each in thinned(sorted(series.points()), MOST_POINTS_SHOWN)],
        "not_finite_from": min(steps, default=None),
    }


def _course(series: Series, source: str) -> Course:
    first = series.first.value if series.first else math.nan
    values = [value for _, value in sorted(series.points())]
    low, high = min(values, default=math.nan), max(values, default=math.nan)
    mean = sum(values) / len(values) if values else math.nan
    leap = max((later - value for value, later in pairwise(values)), default=0.0)
    early, late, rise = gain.thirds(values) if len(values) >= gain.LEAST else (math.nan, math.nan, 0.0)
    return Course(
        series.name, series.count, first, series.last_value, low, high, mean, series.last_step, source, leap,
        series.first_nan, early, late, rise,
    )  # fmt: skip


def _span(series: Series) -> list[int]:
    """First and last position: steps, or 1 and the count where no step is told."""
    first = series.first.step if series.first else None
    return [first if first is not None else 1, series.last_step if series.last_step is not None else series.count]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
