"""Everything that the logs and the context say about one run: processes, failures, exits, versions, settings."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from itertools import pairwise

from doctor.base.evidence import Observations
from doctor.base.patterns import later
from doctor.base.record import mutable, replace
from doctor.base.redact import hide
from doctor.catalogue.unrecognised import Unrecorded
from doctor.logs.failures.raised import Failure
from doctor.logs.failures.tracebacks import Assembler
from doctor.logs.lines import hints
from doctor.logs.lines.exits import ElasticTable, Exit, exits_of, of_node
from doctor.logs.lines.finishes import finishes
from doctor.logs.lines.heads import is_bare, process_of
from doctor.logs.lines.life import Marks, may_be_bar, versions_in
from doctor.logs.lines.lines import Line
from doctor.logs.lines.passing import told_by_hydra
from doctor.logs.lines.prefixes import NODES, Stripped, labels_of, strip
from doctor.logs.read.context import Given
from doctor.logs.read.layouts import LogSource, looks_like_markdown, markdown_lines
from doctor.logs.told.blocks import begins_block, of_block
from doctor.logs.told.lines import of_line, of_version
from doctor.logs.told.said import Said

_MOST_EXITS = 2_000
#: what is told of the patient: sayings, and of each log the characters and blocks that are looked through for some
_MOST_TOLD, _MOST_CHARACTERS, _MOST_BLOCKS = 3_000, 1 << 20, 40
_STRETCH = 64  # lines: a log of a run that rewards code holds thousands of failures, JSON records one a line
_TO_BE_SEEN = hints.EVERYBODY | hints.DICT
_SAMPLE = 200  # lines by which a file's habits are told
_WORLD = later(
    r"\bworld[_ ]size\b[\"'=: ]{1,4}(\d{1,6})\b|Num processes: (\d{1,6})\b|\bnranks (\d{1,6})\b"
    r"|^RANK \d+ world (\d{1,6})\b"
)
_ENGINE = later(r"\b(?P<key>[a-z][a-z0-9_]{2,60})=(?P<value>'[^'\n]{0,160}'|[\w.+\-]{1,60})(?=[,)])")
_ARGUMENTS = later(r"'(?P<key>[a-z][a-z0-9_]{2,60})': (?P<value>'[^'\n]{0,160}'|[\w.+\-]{1,60})(?=[,}])")
#: NCCL's word for each of its variables that it reads (https://github.com/NVIDIA/nccl/blob/master/src/misc/param.cc)
_READ = later(r"\b(?P<key>NCCL_[A-Z0-9_]{2,60}) set by environment to (?P<value>[^\s]{1,200}?)\.?$")
_DUMP = later(r"^\s{1,4}(?P<key>[a-z][a-z0-9_]{2,60}) \.{3,60} (?P<value>[^\n]{1,80})$")


@mutable
class LoggedProcess:
    """One process as its lines show it."""

    label: str
    rank: int | None
    first: Line
    last: Line
    exits: list[Exit] = field(default_factory=list)


@mutable
class Case:
    """What is known of one run.

    `failures` in reading order, `exits` likewise; `world_size` None where nothing tells; `whole`: every line was read.
    `kept`: lines of each source as they stand in it.
    """

    given: Given
    sources: list[LogSource] = field(default_factory=list)
    processes: dict[str, LoggedProcess] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)
    marks: Marks = field(default_factory=Marks)
    versions: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    world_size: int | None = None
    lines: int = 0
    whole: bool = True
    last: Line | None = None
    kept: list[list[tuple[int, str]]] = field(default_factory=list)
    labelled: set[int] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)  # of the labelled sources those whose labels are no ranks
    backwards: set[int] = field(default_factory=set)
    clocks: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    #: source -> what it is, where it shows nothing of a run, see `doctor.logs.lines.nature`
    natures: dict[int, str] = field(default_factory=dict)
    told: list[Said] = field(default_factory=list)  # what lines say of command, settings, versions, devices
    world: Observations | None = field(default=None, repr=False)  # the same as facts, once it was asked for
    pasted: bool = False  # code or configuration is among what was given, see `doctor.logs.told.pieces`
    pasted_lines: set[int] = field(default_factory=set)  # of the one source
    unrecorded: Unrecorded | None = None  # what a run folder tells of its console log
    finished: set[int] = field(default_factory=set)  # sources of which the last lines say that the work is done
    #: (source, stretch of lines) -> failures that have a part of it
    _nearby: dict[tuple[int, int], list[Failure]] | None = field(default=None, repr=False)
    _places: dict[str, int] = field(default_factory=dict, repr=False)  # path -> position of its source
    _indexed: int = field(default=0, repr=False)  # how many failures that index knows

    def order_of(self, source: int, number: int) -> int:
        """A line number as a position in order of time, as far as the file tells it."""
        return -number if source in self.backwards else number

    def key(self, source: int, number: int) -> tuple[int, int, int]:
        """Sorts events of all files: by the clock where every file has one, else file by file.

        A source beyond the files is what came after them all, the end of the command.
        """
        if source >= len(self.sources):
            return 1 << 63, source, number
        order = self.order_of(source, number)
        return (self._time(source, order) if len(self.clocks) == len(self.sources) else 0), source, order

    def _time(self, source: int, order: int) -> int:
        clock = self.clocks[source]
        index = bisect_right(clock, (order, 1 << 63)) - 1
        return clock[max(index, 0)][1]

    def source_of(self, path: str) -> int:
        """Position of the source with a path, the first where there are none."""
        if len(self._places) != len(self.sources):
            self._places = {}
            for index, each in enumerate(self.sources):
                self._places.setdefault(each.path, index)
        return self._places.get(path, 0)

    @property
    def ranks(self) -> list[int]:
        """Ranks that printed anything."""
        return sorted({each.rank for each in self.processes.values() if each.rank is not None})

    def failure_at(self, source: int, number: int, process: str) -> Failure | None:
        """The failure that a line belongs to."""
        if self._nearby is None or self._indexed != len(self.failures):
            self._nearby, self._indexed = {}, len(self.failures)
            for each in self.failures:
                low, high = sorted((each.first.number, each.last_line))
                for stretch in range(low // _STRETCH, high // _STRETCH + 1):
                    self._nearby.setdefault((each.first.source, stretch), []).append(each)
        here = [each for each in self._nearby.get((source, number // _STRETCH), ()) if each.covers(source, number)]
        return next((each for each in here if each.process == process), here[0] if len(here) == 1 else None)


def prepare(source: LogSource, raw: Iterable[tuple[int, str]]) -> tuple[list[tuple[int, str]], int, bool]:
    """Lines of a file in order of time, what srun's labels before them are, whether it shows the newest first."""
    lines = list(raw)
    firsts: dict[int, str] = {}  # a bar that is drawn anew has its label before the first drawing alone
    for number, text in lines[: 10 * _SAMPLE]:
        firsts.setdefault(number, text)
    sample = list(firsts.values())[:_SAMPLE]
    if source.path.endswith((".md", ".markdown")) or looks_like_markdown(text for _, text in lines[:2000]):
        lines = list(markdown_lines(lines))
    if _runs_backwards(sample):
        lines.reverse()
        return lines, labels_of(sample), True
    return lines, labels_of(sample), False


def _runs_backwards(sample: list[str]) -> bool:
    """Whether stamps fall from line to line, as web consoles show the newest line first."""
    year = time.gmtime().tm_year
    first, last = (next(_times(texts, year), 0) for texts in (sample, reversed(sample)))
    if first <= last:  # nearly always: the stamps between need not be read
        return False
    times = list(_times(sample, year))
    pairs = list(pairwise(times))
    falling = sum(later < earlier for earlier, later in pairs)
    rising = sum(later > earlier for earlier, later in pairs)
    return falling >= 5 and falling > 10 * rising and times[0] > times[-1]


def _times(texts: Iterable[str], year: int) -> Iterator[int]:
    return (each for text in texts if (each := strip(text).time_ns(year)) is not None)


class Builder:
    """Takes the lines of one source after another and makes the case."""

    def __init__(self, given: Given, year: int | None = None) -> None:
        """Start empty; `year` completes stamps that leave it out."""
        self.case = Case(given)
        self.year = year or time.gmtime().tm_year
        self._assembler = Assembler()
        self._characters = 0  # looked through for what they tell of the patient

    def add(self, source: LogSource, raw: Iterable[tuple[int, str]], *, whole: bool = True, total: int = 0) -> None:
        """Read one source's kept lines."""
        index = len(self.case.sources)
        self.case.sources.append(source)
        self.case.whole = self.case.whole and whole
        raw = list(raw)
        self.case.kept.append(raw)
        lines, labelled, backwards = prepare(source, raw)
        self.case.labelled |= {index} if labelled else set()
        self.case.nodes |= {index} if labelled == NODES else set()
        self.case.backwards |= {index} if backwards else set()
        own = _OfSource(self, source, index, labelled=labelled, backwards=backwards)
        own.read(lines)
        self.case.finished |= {index} if finishes(lines) else set()
        self.case.exits += own.table.exits
        self.case.lines += total or max((number for number, _ in raw), default=0)

    @property
    def busy(self) -> AbstractSet[tuple[int, str]]:
        """(source, process) of those that are in the middle of something, so that every line of theirs matters."""
        return self._assembler.open

    def look(self, line: Line, worth: int, record: Line | None = None) -> None:
        """Show a line to those who may note it, see `doctor.logs.lines.hints`; `record`: see `Assembler.feed`."""
        case = self.case
        if worth & hints.FAILURE or (self.busy and (line.source, line.process) in self.busy):
            self._assembler.feed(line, record)
        if worth & hints.MARK or (worth & hints.SERVING and not case.marks.served):
            case.marks.feed(line)
        if worth & hints.EXIT and len(case.exits) < _MOST_EXITS:
            told = exits_of(line)
            case.exits += map(of_node, told) if line.source in case.nodes else told
        if worth & hints.TOLD and len(case.told) < _MOST_TOLD and self._characters < _MOST_CHARACTERS:
            self._characters += len(line.text)
            case.told += of_line(line.text, line.number)
        if worth & hints.SETTING or (worth & hints.DICT and "loss" not in line.text):
            self._settings(line)

    def _settings(self, line: Line) -> None:
        case, text = self.case, line.text
        for name, version in versions_in(text[:2000]).items():
            if name not in case.versions or case.versions[name] != version:
                case.told.append(of_version(name, version, line.number, text))
            case.versions.setdefault(name, version)
        if ("orld" in text or "rocesses" in text or "nranks" in text) and (match := _WORLD.search(text)):
            size = int(next(each for each in match.groups() if each))
            case.world_size = max(case.world_size or 0, size) or None
        if " set by environment to " in text and (read := _READ.search(text)):
            case.config.setdefault(read["key"], read["value"])
        if "with config: " in text:
            self._take(_ENGINE, text)
        elif "non-default args: {" in text or text.lstrip().startswith("{'"):
            self._take(_ARGUMENTS, text) if "loss" not in text else None
        elif " ..." in text and (dump := _DUMP.match(text)):
            case.config.setdefault(dump["key"], hide(dump["key"], dump["value"].strip()))

    def _take(self, pattern: re.Pattern[str], text: str) -> None:
        for match in pattern.finditer(text[:20_000]):
            self.case.config.setdefault(match["key"], hide(match["key"], match["value"].strip("'")))

    def close(self) -> Case:
        """What the sources say, and nothing more: failures in order of time, duplicates out."""
        case = self.case
        case.failures = [self._placed(each) for each in unique(self._assembler.close())]
        return case

    def _placed(self, failure: Failure) -> Failure:
        """The failure, with what is said right before it."""
        if told_by_hydra(failure, self.case.kept):
            return replace(failure, at_top=True, caught="")
        return failure


class _OfSource:
    """Shows the lines of one source to those whom they concern; of most lines only the process counts."""

    def __init__(self, builder: Builder, source: LogSource, index: int, *, labelled: int, backwards: bool) -> None:
        self.table = ElasticTable()
        self._builder, self._case, self._year = builder, builder.case, builder.year
        self._source, self._index = source, index
        self._labelled, self._sign = labelled, -1 if backwards else 1
        self._clock: list[tuple[int, int]] = []
        self._records: dict[str, Line] = {}  # the last line of each process that carries a level
        self._progress: list[tuple[int, str, bool]] = []  # order, text, whether it is stripped
        #: number, text and what came of it, of the last line of each process, in order of these lines
        self._last: dict[str, tuple[int, str, Line | None]] = {}

    def read(self, lines: Sequence[tuple[int, str]]) -> None:
        """Read them all, and tell the case what only the end shows."""
        worths, marks = hints.worth([text for _, text in lines]), self._case.marks
        blocks = 0
        for place, ((number, text), worth) in enumerate(zip(lines, worths, strict=True)):
            if worth & hints.TOLD and blocks < _MOST_BLOCKS and begins_block(text):
                self._case.told += of_block(lines, place)
                blocks += 1
            wanted = worth & (_TO_BE_SEEN if marks.served else _TO_BE_SEEN | hints.SERVING)
            told = None if wanted or self._labelled or self.table.open else process_of(text)
            process = told or self._source.label
            if told is None or (self._builder.busy and (self._index, process) in self._builder.busy):
                self._see(text, number, worth)
                continue
            if worth & hints.PROGRESS:
                self._progress.append((self._sign * number, text, False))
            if process not in self._last:
                self._begins(process, self._line(strip(text), number))
            self._last.pop(process, None)
            self._last[process] = (number, text, None)
        self._close()

    def _see(self, text: str, number: int, worth: int) -> None:
        """Take a line apart, and show it to everybody if it matters."""
        stripped = strip(text, slurm_labels=self._labelled)
        line = self._line(stripped, number)
        if self.table.open or worth & hints.TABLE:
            line = self.table.feed(line)
        self._builder.look(line, worth, self._records.get(line.process))
        if line.level:
            self._records[line.process] = line
        if line.time_ns is not None:
            self._clock.append((line.order, line.time_ns))
        if worth & hints.PROGRESS:
            self._progress.append((line.order, line.text, True))
        if line.text and not line.text.isspace():
            self._begins(line.process, line)
            self._last.pop(line.process, None)
            self._last[line.process] = (number, text, line)

    def _begins(self, process: str, line: Line) -> None:
        if process not in self._case.processes:
            self._case.processes[process] = LoggedProcess(process, line.rank, line, line)

    def _line(self, stripped: Stripped, number: int) -> Line:
        return line_of(stripped, self._source, self._index, number, self._year, self._sign * number)

    def _close(self) -> None:
        for process, (number, text, line) in self._last.items():
            self._case.last = self._case.processes[process].last = line or self._line(strip(text), number)
        if self._clock:
            self._case.clocks[self._index] = self._clock
        shown = [each for each in self._progress if may_be_bar(each[1])]
        shown = shown if len(shown) <= 2 * _SAMPLE else [*shown[:_SAMPLE], *shown[-_SAMPLE:]]
        self._case.marks.see(self._index, self._stripped(self._progress), self._stripped(shown))

    @staticmethod
    def _stripped(lines: Sequence[tuple[int, str, bool]]) -> Iterator[tuple[int, str]]:
        """Order and message of what may show progress, the last first."""
        for order, text, stripped in reversed(lines):
            yield order, text if stripped or is_bare(text) else strip(text).text


def line_of(stripped: Stripped, source: LogSource, index: int, number: int, year: int, order: int = 0) -> Line:
    """A stripped line with its place; what the line does not say, the file's name may."""
    process, rank = stripped.process, stripped.rank
    if source.label:
        process = process or source.label
        rank = rank if rank is not None else source.rank
    return Line(
        stripped.text, process, rank, stripped.time_ns(year), source.path, number, stripped.level, index,
        stripped.repeated, stripped.stamp is not None, order,
    )  # fmt: skip


def completed(case: Case) -> Case:
    """A case of all sources, with what only all of them tell, and with the context on top."""
    for each in case.exits:
        label = f"rank {each.rank}"
        if each.rank is not None and label in case.processes:
            case.processes[label].exits.append(each)
    case.versions.update(case.given.versions)
    for said in case.told:
        if said.owner in ("verl", "variable") and isinstance(said.value, (str, int, float)):
            case.config.setdefault(said.name, str(said.value))
    case.config.update({name: hide(name, value) for name, value in case.given.config.items()})
    told = [*case.ranks, *(each.rank for each in case.exits if each.rank is not None)]
    if case.world_size is None and max(told, default=0) > 0:  # the word of rank 0 alone tells nothing of others
        case.world_size = max(told) + 1
    return case


def unique(failures: Iterable[Failure]) -> list[Failure]:
    """Failures that a table, a log record and a process each print once; how often one was printed stays known."""
    kept: dict[tuple[str, str, str], Failure] = {}
    for each in failures:
        key = each.process, each.cause.type, each.cause.message[:200]
        kept[key] = _again(kept[key], each) if key in kept else each
    return list(kept.values())


def _again(known: Failure, each: Failure) -> Failure:
    """A failure that was printed once more; from other frames it may have ended what caught it before."""
    if known.first.source != each.first.source or not known.times:
        return known
    alike = [one.frames for one in known.chain] == [one.frames for one in each.chain]
    return replace(known, times=known.times + 1 if alike else 0, latest=each.first.number)
