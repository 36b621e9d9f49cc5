"""The metrics of a run that is over: the live rules over every source of them, and their time lines."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from doctor.core.columns import MetricRow, Stretch, points_of, stretches
from doctor.core.finding import Finding, Role
from doctor.core.outcome import Crashed
from doctor.core.problem import ERROR
from doctor.core.rules import RuleEngine, load_rules
from doctor.core.series import Point
from doctor.logs.hangs import Pace
from doctor.logs.layouts import Source
from doctor.logs.metric_files import MetricsCsv
from doctor.logs.metric_lines import Told
from doctor.logs.metrics import MetricReader
from doctor.logs.prefixes import Stripped, strip
from doctor.logs.timeline import Series, Timeline, thinned

#: metrics that a reader looks at first, whatever was found
USUAL = ("loss", "reward", "kl", "grad_norm")
#: and those that come behind them where there is room
_FURTHER = (
    "entropy", "reward_std", "completions/mean_length", "learning_rate", "loss_scale", "step_time",
    "vllm/generation_tokens_per_s", "vllm/kv_cache_usage",
)  # fmt: skip
MOST_SHOWN, MOST_POINTS_SHOWN = 12, 600
_MOST_EVIDENCE = 3
#: of so few rows, columns would cost more than they spare
FEW_ROWS = 8
_ENGINE = re.compile(rb"\bEngine (\d{1,4}):")


@dataclass(frozen=True)
class Live:
    """What the metrics say.

    Args:
        findings: one a problem, in the order of the rule engine, source after source; evidence of all sources joined.
        crashed: rules that raised.
        series: metrics worth drawing, see `doctor.core.schema`.
        steps: first and last step of the longest source, None where none tells steps.
        paces: when the metric lines of each log were written, where they carry stamps.

    """

    findings: tuple[Finding, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    series: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[int, int] | None = None
    paces: tuple[Pace, ...] = ()


@dataclass
class _Track:
    """One source of metrics: a log, or a file of metrics. Each is a series of its own."""

    source: str
    engine: RuleEngine
    timeline: Timeline = field(default_factory=Timeline)
    owner: dict[str, int] = field(default_factory=dict)

    def take(self, rows: Iterable[MetricRow]) -> None:
        """Judge rows, and keep those of the first rank that told the metric for the time line."""
        for together in stretches(rows):
            if len(together) < FEW_ROWS:
                self._take_points(point for row in together for point in points_of(row))
                continue
            stretch, rank = Stretch(together), together[0].rank
            self.engine.feed_stretch(stretch)
            columns = stretch.columns
            if rank is not None:
                columns = {name: each for name, each in columns.items() if self.owner.setdefault(name, rank) == rank}
            self.timeline.add_columns(columns)

    def _take_points(self, points: Iterable[Point]) -> None:
        """The same point by point."""
        feed, add, owner = self.engine.feed, self.timeline.add, self.owner
        for point in points:
            feed(point)
            rank = point[4]
            if rank is None or owner.setdefault(point[0], rank) == rank:
                add(point)


class Judge:
    """Takes one source of metrics after another.

    Args:
        table: where every metric is written, None for nowhere.
        year: completes stamps that leave it out.

    """

    def __init__(self, table: MetricsCsv | None = None, year: int | None = None) -> None:
        self._table = table
        self._year = year or time.gmtime().tm_year
        self._tracks: list[_Track] = []
        self._rules: list[type] | None = None
        self._paces: list[Pace] = []

    def log(self, source: Source, told: Iterable[Told], *, labelled: bool = False) -> None:
        """Judge the metric lines of one log."""
        pace = Pace(source.path)
        self._judge(source.path, _rows(source, told, self._year, pace, labelled=labelled))
        self._paces += [pace] if pace.rows else []

    def file(self, path: str, rows: Iterable[MetricRow]) -> None:
        """Judge a file of metrics."""
        self._judge(path, rows)

    def _judge(self, path: str, rows: Iterable[MetricRow]) -> None:
        if self._table is not None:
            rows = self._table.passed(rows)
        rows = iter(rows)
        first = next(rows, None)
        if first is not None:
            self._track(path).take(chain((first,), rows))

    def _track(self, path: str) -> _Track:
        """A new track; the rules are imported for the first source that holds a metric at all."""
        if self._rules is None:
            self._rules = load_rules()
        self._tracks.append(_Track(path, RuleEngine(self._rules)))
        return self._tracks[-1]

    def finish(self) -> Live:
        """What came of all sources."""
        self._tell_servers()
        for track in self._tracks:
            track.engine.close()
        findings = merged(finding for track in self._tracks for finding in track.engine.findings)
        crashed = {name: error for track in self._tracks for name, error in track.engine.crashed.items()}
        return Live(
            findings,
            tuple(Crashed(name, error, "") for name, error in crashed.items()),
            tuple(_series(self._tracks, findings)),
            _steps(self._tracks),
            tuple(self._paces),
        )

    def _tell_servers(self) -> None:
        """Say to a log without a loss that a trainer's lies beside it, and how many values of it there are."""
        steps = max(
            (track.timeline.series["loss"].count for track in self._tracks if "loss" in track.timeline.series),
            default=0,
        )
        for track in self._tracks if steps else ():
            if "loss" not in track.timeline.series:
                track.engine.feed(Point("beside/trainer_steps", steps, source=track.source))


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


def turned(findings: Sequence[Finding], live: Sequence[Finding], follows: Container[str]) -> tuple[Finding, ...]:
    """Put an error that the metrics showed before the failure that is its consequence.

    Args:
        findings: as ranked, the first names the failure.
        live: what the rules found.
        follows: ids and areas of problems that the first one is a symptom of, by its signatures.

    """
    first = findings[0] if findings else None
    cause = next(
        (each for each in live if each.severity is ERROR and each.role is Role.CAUSE
         and (each.problem.id in follows or each.problem.id[:3] in follows)), None,
    )  # fmt: skip
    if first is None or cause is None or first.problem.id in {each.problem.id for each in live}:
        return tuple(findings)
    others = [each for each in findings[1:] if each.problem.id != cause.problem.id]
    return (replace(cause, role=Role.CAUSE), replace(first, role=Role.SYMPTOM), *others)


def joined(first: Finding, second: Finding) -> Finding:
    """`first` with the evidence of `second`, and its step and rank where `first` names none."""
    evidence = dict.fromkeys((*first.evidence, *second.evidence))
    where = first.where
    where = replace(where, step=second.where.step) if where.step is None else where
    return replace(first, evidence=tuple(evidence)[: max(_MOST_EVIDENCE, len(first.evidence))], where=where)


def _rows(source: Source, told: Iterable[Told], year: int, pace: Pace, *, labelled: bool) -> Iterator[MetricRow]:
    """Rows of one log. Of several vLLM engines in it only the first counts, for each has a series of its own."""
    reader = MetricReader()
    owner: tuple[str, bytes] | None = None
    for each in told:
        if each.bar is not None:
            reader.see(each.bar)
        head = _of_head(each.head, labelled)
        if each.row.names[0].startswith("vllm/"):
            engine = _ENGINE.search(each.head)
            mine = (head.process, engine[1] if engine else b"")
            owner = owner or mine
            if mine != owner:
                continue
        rank = head.rank if head.rank is not None else source.rank
        place = f"{source.path}:{each.line}"
        t_ns = head.time_ns(year)
        rows = reader.rows(each.row, each.behind, rank=rank, t_ns=t_ns, source=place)
        if t_ns is not None:
            pace.see(t_ns, rows[0].step, each.line)
        yield from rows


@lru_cache(maxsize=256)
def _of_head(head: bytes, labelled: bool) -> Stripped:
    """Rank, process and time from what stands before the metrics; the same head comes again and again."""
    return strip(head.decode("utf-8", "replace") + "{'", slurm_labels=labelled)


def _steps(tracks: Sequence[_Track]) -> tuple[int, int] | None:
    """First and last step of the source that has seen the most of them."""
    known = [
        (each.timeline.first_step, each.timeline.last_step)
        for each in tracks
        if each.timeline.first_step is not None and each.timeline.last_step is not None
    ]
    return max(known, key=lambda pair: pair[1] - pair[0], default=None)


def _series(tracks: Sequence[_Track], findings: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """The metrics that findings judge, then the usual ones; of several sources the one that holds most values."""
    longest: dict[str, tuple[_Track, Series]] = {}
    for track in tracks:
        for name, series in track.timeline.series.items():
            if name not in longest or series.count > longest[name][1].count:
                longest[name] = (track, series)
    judging: dict[str, list[str]] = {}
    for finding in findings:
        for name in _judged(finding, tracks, longest):
            judging.setdefault(name, []).append(finding.problem.id)
    names = dict.fromkeys((*judging, *USUAL, *_FURTHER))
    for name in [each for each in names if each in longest][:MOST_SHOWN]:
        track, series = longest[name]
        yield _drawable(series, track.source, judging.get(name, []))


def _judged(finding: Finding, tracks: Sequence[_Track], known: Iterable[str]) -> Iterator[str]:
    """Names of the metrics that a finding's rule looks at."""
    for wanted in tracks[0].engine.metrics_of(finding.problem.id):
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


def _span(series: Series) -> list[int]:
    """First and last position: steps, or 1 and the count where no step is told."""
    first = series.first.step if series.first else None
    return [first if first is not None else 1, series.last_step if series.last_step is not None else series.count]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
