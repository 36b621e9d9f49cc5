"""One case out of what each log says by itself, in the order of the logs."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.record import replace
from doctor.base.redact import redact_text
from doctor.catalogue.signature import Hit
from doctor.logs.failures.case import Case, LoggedProcess, completed, unique
from doctor.logs.failures.frames import Frame, is_own
from doctor.logs.failures.raised import Failure, Raised
from doctor.logs.lines.lines import Line
from doctor.logs.read.context import Given
from doctor.logs.read.layouts import LogSource
from doctor.logs.read.log import OWN, OWN_RANK, LogReading

Known = dict[tuple[Frame, ...], tuple[Frame, ...]]
#: exits kept of all logs together: what one launcher says of so many ranks is kept whole
MOST_EXITS = 50_000
_REST = 2_000  # characters of a message behind its first line


def case_of(
    given: Given, sources: Sequence[LogSource], readings: Sequence[LogReading]
) -> tuple[Case, list[tuple[int, Hit]]]:
    """The case of all logs, and their hits, each with the frames of the failure that it belongs to.

    Args:
        given: the context.
        sources: the logs.
        readings: what each says.

    """
    case = Case(given)
    frames: Known = {}
    for source, reading in zip(sources, readings, strict=True):
        _add(case, source, reading, frames)
    case.failures = unique(case.failures)
    completed(case)
    hits = [
        (signature, _with_failure(case, index, _named(hit, source)))
        for index, (source, reading) in enumerate(zip(sources, readings, strict=True))
        for signature, hit in reading.hits
    ]
    return case, hits


def _add(case: Case, source: LogSource, reading: LogReading, frames: Known) -> None:
    """What one more log says; `frames` are those seen so far, for thousands of ranks have the same."""
    mine, place = reading.case, _Place(source, len(case.sources))
    case.sources.append(source)
    case.whole = case.whole and mine.whole
    case.kept.append(mine.kept[0])
    case.labelled |= {place.index} if mine.labelled else set()
    case.nodes |= {place.index} if mine.nodes else set()
    case.backwards |= {place.index} if mine.backwards else set()
    case.lines += mine.lines
    case.told += [each._replace(file=source.path) for each in mine.told]
    case.failures += [place.failure(each, frames) for each in mine.failures]
    room = max(0, MOST_EXITS - len(case.exits))
    case.exits += [each._replace(line=place.line(each.line), rank=place.rank(each.rank)) for each in mine.exits[:room]]
    case.finished |= {place.index} if mine.finished else set()
    if mine.natures:
        case.natures[place.index] = mine.natures[0]
    if mine.clocks:
        case.clocks[place.index] = mine.clocks[0]
    case.last = place.line(mine.last) if mine.last is not None else case.last
    _processes(case, mine, place)
    _marks(case, mine, place)
    for known, told in ((case.versions, mine.versions), (case.config, mine.config)):
        for name, value in told.items():
            known.setdefault(name, value)
    if mine.world_size is not None:
        case.world_size = max(case.world_size or 0, mine.world_size)


def _processes(case: Case, mine: Case, place: _Place) -> None:
    for each in mine.processes.values():
        label, last = place.process(each.label), place.line(each.last)
        known = case.processes.get(label)
        if known is None:
            case.processes[label] = LoggedProcess(label, place.rank(each.rank), place.line(each.first), last)
        else:
            known.last = last


def _marks(case: Case, mine: Case, place: _Place) -> None:
    marks, others = case.marks, mine.marks
    marks.success = place.line(others.success) if others.success is not None else marks.success
    if marks.asked is None and others.asked is not None:
        marks.asked = place.line(others.asked)
    if marks.folded is None and others.folded is not None:
        marks.folded = place.line(others.folded)
    if others.progress:
        marks.progress[place.index] = others.progress[0]
    marks.steps = others.steps or marks.steps
    marks.served = marks.served or others.served
    marks.written = marks.written or others.written
    marks.full = others.full or marks.full


class _Place:
    """Puts what a log says by itself to its place among all logs, under its own name.

    Args:
        source: whose log it is.
        index: its position.

    """

    def __init__(self, source: LogSource, index: int) -> None:
        self.source, self.index = source, index

    def process(self, label: str) -> str:
        return self.source.label if label == OWN else label

    def rank(self, rank: int | None) -> int | None:
        return self.source.rank if rank == OWN_RANK else rank

    def line(self, line: Line) -> Line:
        return line._replace(
            source=self.index, file=self.source.path, process=self.process(line.process), rank=self.rank(line.rank)
        )

    def failure(self, failure: Failure, known: Known) -> Failure:
        return replace(
            failure,
            process=self.process(failure.process),
            rank=self.rank(failure.rank),
            first=self.line(failure.first),
            chain=tuple(self._raised(each, known) for each in failure.chain),
        )

    def _raised(self, raised: Raised, known: Known) -> Raised:
        return replace(raised, line=self.line(raised.line), frames=known.setdefault(raised.frames, raised.frames))


def _named(hit: Hit, source: LogSource) -> Hit:
    place = _Place(source, 0)
    return replace(hit, file=source.path, process=place.process(hit.process), rank=place.rank(hit.rank))


def _with_failure(case: Case, index: int, hit: Hit) -> Hit:
    """A hit with the frames of the traceback that it ends, and the rank that this one tells."""
    failure = case.failure_at(index, hit.line, hit.process)
    if failure is None:
        return hit
    raised = failure.raised_at(hit.line, hit.text)
    frames = raised.frames if raised is not None else ()
    keys = tuple(each.key for each in frames)
    return replace(
        hit,
        frames=keys,
        own=tuple(filter(is_own, keys)),
        code=frames[-1].code if frames else "",
        more=_rest(raised.message) if raised is not None else "",
        codes=tuple(each.code for each in frames),
        rank=hit.rank if hit.rank is not None else failure.rank,
    )


def _rest(message: str) -> str:
    _, _, rest = message.partition("\n")
    return redact_text(rest[:_REST], homes=False) if rest else ""
