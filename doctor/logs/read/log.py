"""What one log says by itself: read where it lies, by whichever process is free, and small enough to travel.

Nothing here knows of the other logs. Links to the same content are read once; whose log it is, a mark stands for that
`doctor.logs.read.merging` replaces.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import islice
from typing import TypeVar, Union

from doctor.base.patterns import later
from doctor.base.record import mutable, record, replace
from doctor.base.redact import without_secrets
from doctor.catalogue.signature import Hit
from doctor.logs.failures.case import Builder, Case, line_of
from doctor.logs.failures.hangs import Ending, Pace, ending_of
from doctor.logs.lines.nature import NOTES, nature_of
from doctor.logs.lines.notes import is_notes
from doctor.logs.lines.prefixes import LEARNT, NODES, RANKS, strip
from doctor.logs.match.matcher import RawHit, RawHits
from doctor.logs.metrics import anew, loose, plain
from doctor.logs.metrics.lines import ToldRange
from doctor.logs.metrics.live import Track, track_of, track_of_log
from doctor.logs.read.appended import Last, of_last_run, rows_since, unclear
from doctor.logs.read.context import Given
from doctor.logs.read.layouts import LogSource
from doctor.logs.read.parallel import FileRange
from doctor.logs.read.scan import Scanned, Scanner, is_labelled
from doctor.logs.read.streams import STDIN

_T = TypeVar("_T")
#: stands for the label and the rank of a log that lies under several names
OWN, OWN_RANK = "\0own", -1
#: a log of so few lines is kept whole, for it may be a report instead of a log
KEPT_LINES = 3_000
#: kept of each log where there are very many: hits of each signature, failures
BRIEF_FIRST, BRIEF_LAST, BRIEF_FAILURES = 4, 2, 20
#: stamps that nothing asks for
_FEW_STAMPS = 8
#: how a stamp with a year begins
YEAR = r"\b(20[1-9]\d)[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])\b"
_YEAR = later(YEAR)
_YEAR_LINES = 5_000


@mutable
class LogReading:
    """What one log says.

    Args:
        case: of this source alone, number 0; without the lines of a large one.
        hits: (position of the signature, hit), in order; without the frames of the failure that a hit belongs to.
        counts: how many hits of each signature there were.
        ending: how it ends; `track`: its metrics, judged; `told`: its metric lines, where they are wanted themselves,
            see `doctor.logs.metrics.lines`; `labelled`: srun wrote a task number before each line.
        year: by which its short stamps were completed.
        error: why it could not be read; `cut_off`: why not to its end; `lost`: why metric lines are missing.
        last: of several runs in the log the only one that was read, None where there is one.
        unclear: what processes ended with that may have been attempts, where no border can be told.

    """

    case: Case
    hits: list[tuple[int, Hit]] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    ending: Ending = field(default_factory=Ending)
    track: Track | None = None
    told: tuple[tuple[ToldRange, ...], tuple[int, ...]] = ((), ())
    labelled: bool = False
    year: int = 0
    error: str = ""
    cut_off: str = ""
    lost: str = ""
    last: Last | None = None
    unclear: tuple[str, ...] = ()


@record
class ReadSettings:
    """How logs are read, the same for all of them.

    Args:
        year: completes stamps that leave it out; None: what the log itself states, else this year.
        brief: whether there are so many that less of each is kept.
        rows: whether metric lines are wanted as they are, and not judged.

    """

    year: int | None = None
    brief: bool = False
    rows: bool = False


@record
class Joined:
    """A large log, read in ranges, and the names under which it lies."""

    hits: RawHits
    sources: tuple[LogSource, ...]


Item = Union[FileRange, Joined, tuple[LogSource, ...]]


class Reader:
    """Reads one log after another; can be handed to another process.

    Args:
        scanner: with the signatures of the catalogue.
        settings: how.

    """

    def __init__(self, scanner: Scanner, settings: ReadSettings) -> None:
        self.scanner = scanner
        self.settings = settings

    def __call__(self, item: Item) -> RawHits | list[LogReading]:
        """Do what is asked: a range gives its raw hits, a log with all its names a reading for each of them."""
        if isinstance(item, FileRange):
            return self.scanner.part(item)
        if isinstance(item, Joined):
            return self.readings(self.scanner.scanned(item.hits, is_labelled(item.hits.name)), item.sources)
        return self.log(item[0].path, item)

    def log(self, path: str, sources: tuple[LogSource, ...]) -> list[LogReading]:
        """Read one log, which lies at a path, under each of its names."""
        return self.readings(self.scanner.file(path, brief=self.settings.brief), sources)

    def stdin(self, source: LogSource) -> LogReading:
        """Read standard input."""
        return self.readings(self.scanner.stdin(), (source,))[0]

    def readings(self, found: Scanned, sources: tuple[LogSource, ...]) -> list[LogReading]:
        """What a log that was scanned says, under each of its names; its metrics under the first of them."""
        if found.error:
            return [LogReading(Case(Given()), error=found.error)] * len(sources)
        found, last = of_last_run(found)
        year = self.settings.year or year_in(found.lines) or time.gmtime().tm_year
        track = None if self.settings.rows else self._track(found, last, sources[0], year)
        pace = track.pace if track is not None else None
        shared: dict[bool, LogReading] = {}
        if len(sources) == 1:
            said = [self._reading(found, sources[0], year, pace)]
        else:
            said = [self._shared(found, source, year, pace, shared) for source in sources]
        said[0].track, said[0].lost, said[0].last = track, found.lost, last
        said[0].unclear = unclear(found.lines) if last is None and len(said[0].case.failures) > 1 else ()
        said[0].told = found.told if self.settings.rows else said[0].told
        return said

    def _track(self, found: Scanned, last: Last | None, source: LogSource, year: int) -> Track | None:
        """The metrics of the last run of a log, judged; in plain words where it has no notation that is known."""
        path, told = source.path, [*found.metric_lines()] if last is not None else found.metric_lines()
        again = None
        if last is not None:
            again = anew.repeated(anew.of_lines(told), found.lines, last.line, path)
            told = rows_since(told, last.line)
        track = track_of_log(source, told, year, labelled=found.labelled, anew=again)
        # those of a short log are read with all that is known of it; of very many logs others tell the same
        if track is not None or found.total_lines <= loose.MOST_LINES or self.settings.brief:
            return track
        rows = plain.read(path, found.lines, year)
        return track_of(path, rows, anew.fallen_back(anew.of_rows(rows), found.lines, path))

    def _shared(
        self, found: Scanned, source: LogSource, year: int, pace: Pace | None, shared: dict[bool, LogReading]
    ) -> LogReading:
        """One reading for all names of a log, but for a process that its lines name themselves."""
        named = bool(source.label)
        if named not in shared:
            alike = replace(source, label=OWN, rank=OWN_RANK) if named else source
            shared[named] = self._reading(found, alike, year, pace)
        clash = named and source.label in shared[named].case.processes
        return self._reading(found, source, year, pace) if clash else shared[named]

    def _told(self, case: Case, hits: Iterable[RawHit]) -> Iterator[tuple[int, str]]:
        """(line, what it is) of everything that failed or that a signature knows."""
        yield from ((each.cause.line.number, each.cause.type) for each in case.failures)
        yield from ((each.line, self.scanner.signatures[each.signature].problem_id) for each in hits)

    def _reading(self, found: Scanned, source: LogSource, year: int, pace: Pace | None) -> LogReading:
        """What a log says, as if it were this source's, without its metrics."""
        builder = Builder(Given(), year)
        builder.add(source, found.lines, whole=found.whole, total=found.total_lines)
        case = builder.close()
        if not (case.failures or case.exits or case.marks.progress or case.marks.success or case.marks.served):
            case.natures[0] = nature_of(source.path, found.lines)
        raw = list(_few(found.hits)) if self.settings.brief else found.hits
        hits = [(each.signature, _hit(case, each, year)) for each in raw]
        if found.whole and is_notes(source.path, found.lines, self._told(case, raw)):
            case.natures[0] = NOTES
        ending = ending_of(case, found.lines, pace)
        if self.settings.brief:
            case.failures = _ends(case.failures, BRIEF_FAILURES * 3 // 4, BRIEF_FAILURES // 4)
        _thin(case, hits, keep=source.path == STDIN or found.total_lines <= KEPT_LINES)
        return LogReading(case, hits, found.counts, ending, cut_off=found.cut_off, labelled=found.labelled, year=year)


def year_in(lines: Iterable[tuple[int, str]]) -> int | None:
    """The year by which short stamps are completed: the first that a log states."""
    for _, text in islice(lines, _YEAR_LINES):
        if match := _YEAR.search(text[:80]):
            return int(match[1])
    return None


def _hit(case: Case, hit: RawHit, year: int) -> Hit:
    """A hit with process, rank and time."""
    labels = NODES if case.nodes else RANKS if case.labelled else 0
    line = line_of(strip(hit.raw, slurm_labels=labels), case.sources[0], 0, hit.line, year)
    groups, text = without_secrets(hit.groups, line.text)
    return Hit(
        groups, text, line.file, hit.line, hit.offset, line.rank, line.time_ns, line.process, level=line.level,
    )  # fmt: skip


def _few(hits: Iterable[RawHit]) -> Iterator[RawHit]:
    """The first and last hits of each signature, in order."""
    of_each: dict[int, list[RawHit]] = {}
    for hit in hits:
        of_each.setdefault(hit.signature, []).append(hit)
    kept = (hit for each in of_each.values() for hit in _ends(each, BRIEF_FIRST, BRIEF_LAST))
    return iter(sorted(kept, key=lambda hit: (hit.offset, hit.signature)))


def _ends(items: list[_T], first: int, last: int) -> list[_T]:
    return items if len(items) <= first + last else [*items[:first], *items[-last:]]


def _thin(case: Case, hits: Iterable[tuple[int, Hit]], *, keep: bool) -> None:
    """Leave out what nobody asks for any more: lines, and stamps between those that matter."""
    if not keep:
        case.kept = [[]]
    raised = (each.line.number for failure in case.failures for each in failure.chain)
    asked = {
        *(hit.line for _, hit in hits), *raised, *(each.first.number for each in case.failures),
        *(each.line.number for each in case.exits),
    }  # fmt: skip
    case.clocks = {
        source: _asked_for(clock, {case.order_of(source, each) for each in asked})
        for source, clock in case.clocks.items()
    }


def _asked_for(clock: list[tuple[int, int]], orders: Iterable[int]) -> list[tuple[int, int]]:
    """The last stamp before each of some positions, the first ones and the last."""
    kept = {*range(min(_FEW_STAMPS, len(clock))), len(clock) - 1}
    kept |= {bisect_right(clock, (order, 1 << 63)) - 1 for order in orders}
    return [clock[each] for each in sorted(kept) if each >= 0]


def lines_of(case: Case, index: int) -> list[tuple[int, str]]:
    """Lines of one source of a case; those of a large file are read again."""
    kept, path = case.kept[index], case.sources[index].path
    lines = kept if kept or path == STDIN else Scanner(()).file(path).lines
    return [(number, text.replace(LEARNT, "")) for number, text in lines]
