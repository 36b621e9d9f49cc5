"""Finds every signature and every probe in one pass over a log.

An engine tells which literals a line holds (`doctor.logs.match.literal_engines`). What follows is the same for all
engines, and so is the answer: colours are cut out, the line is stripped of what stands before the message, and the
pattern is tried on it. A signature counts once a line. Lines of more than 16 KiB are searched in windows that overlap
by 4 KiB.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple, Protocol

from doctor.base.record import mutable, record
from doctor.catalogue.signature import Signature
from doctor.logs.lines.locales import in_chinese, in_english
from doctor.logs.match.literal_engines import Engine, Found, make_engine
from doctor.logs.match.literals import literals_of, with_escapes
from doctor.logs.read.blocks import Block, Blocks, LineIndex
from doctor.logs.read.colours import Cleaned
from doctor.logs.read.quick import count_line_feeds, piece_around
from doctor.logs.read.streams import Stream

FIRST_HITS, LAST_HITS = 40, 10  # kept of each signature: the death is often the last one
LINE_KEPT = 4096  # characters of a line that are kept; of longer ones the beginning and what surrounds the match
WINDOW, WINDOW_OVERLAP = 1 << 14, 1 << 12
ENDS_BYTES = 1 << 16


@record
class Compiled:
    """A signature of the catalogue, whose it is, its position there, and its literals where they are known already.

    `forms`: how the literals stand in logs, see `forms_of`; None where they are still to be made (`wanted` makes them).
    """

    problem_id: str
    index: int
    signature: Signature
    literals: tuple[bytes, ...] = ()
    forms: tuple[bytes, ...] | None = None

    @property
    def wanted(self) -> tuple[bytes, ...]:
        """What a line must hold one of."""
        if self.forms is not None:
            return self.forms
        return forms_of(self.literals or literals_of(self.signature))


def forms_of(literals: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Literals, what shells and the C library say in Chinese instead, and both as JSON strings hold them."""
    return with_escapes((*literals, *in_chinese(literals)))


class Seen(NamedTuple):
    """A line that a probe saw.

    Args:
        offset, line: where it starts in the stream, and its number from 1.
        raw: its bytes in UTF-8 without colours and line end; prefixes are still there.
        before, behind: what stands around it, as far as the probe asked for it; nothing from another range of the file.

    """

    offset: int
    line: int
    raw: bytes
    before: bytes = b""
    behind: bytes = b""

    @property
    def text(self) -> str:
        """The line as text."""
        return self.raw.decode("utf-8", "replace")


_seen: Any = partial(tuple.__new__, Seen)


class LineCollector(Protocol):
    """Takes the lines of a probe one by one; its result must be picklable, for it may come from another process.

    One may have `take_at(number, data, start, end)` besides: it is given lines that no signature asks for where they
    stand in a block, with all around them that the probe asks for. `number` counts lines from 1.
    """

    def take(self, seen: Seen) -> None:
        """Take a line."""
        ...

    def result(self) -> Any:
        """What was made of the lines."""
        ...


class Watcher(Protocol):
    """Takes every block of a stream, as it is read; its result must be picklable."""

    def take(self, block: Block, probes: frozenset[str], /) -> None:
        """Take a block, and the names of the probes that saw a line in it."""
        ...

    def result(self) -> Any:
        """What was made of the blocks."""
        ...


@record
class Probe:
    """Literals whose lines are wanted, without a pattern.

    Args:
        name: under which its lines are given.
        literals: a line with one of them is seen.
        first, last: how many lines are kept.
        collector: makes what takes every line; then none are kept. A function of a module, for other processes.
        before_bytes, behind_bytes: how much around each line its collector gets.
        placed: whether anybody asks for offsets, which cost more than the number of a line; -1 stands for them.

    """

    name: str
    literals: tuple[bytes, ...]
    first: int = 200
    last: int = 50
    collector: Callable[[], LineCollector] | None = None
    before_bytes: int = 0
    behind_bytes: int = 0
    placed: bool = True


class RawHit(NamedTuple):
    """A line that a signature matched.

    Args:
        signature: position in the sequence that the matcher was given.
        offset, line: where the line starts in the stream, and its number from 1.
        raw: the line without colours and line end, as text; at most some 4096 characters of it.
        text: what is left of it once prefixes are cut off.
        groups: named groups that took part in the match.

    """

    signature: int
    offset: int
    line: int
    raw: str
    text: str
    groups: Mapping[str, str]


@mutable
class Kept:
    """The first `most` of something, the last ones behind them, and how many there were."""

    most: int
    last: deque[Any]
    first: list[Any] = field(default_factory=list)
    count: int = 0

    @classmethod
    def up_to(cls, first: int, last: int | None) -> Kept:
        """Keep nothing yet, later this many."""
        return cls(first, deque(maxlen=last))

    def add(self, item: Any) -> None:
        """Count an item and keep it."""
        self.count += 1
        if len(self.first) < self.most:
            self.first.append(item)
        else:
            self.last.append(item)

    def __iter__(self) -> Iterator[Any]:
        """Give what was kept, in order."""
        yield from self.first
        yield from self.last


@mutable
class RawHits:
    """What one pass over one stream gave.

    Args:
        name: of the stream; `cut_off`: why it was not read to its end, "" when it was.
        hits: signature -> its hits; `probes`: name -> lines kept.
        collected: name of a probe -> what its collector made, one for each range of the file.
        total_bytes, lines: of the text; `index`: where lines are.
        head, tail: the first and last 64 KiB of the text.
        watched: what the watcher made of the blocks, one for each range of the file.
        error: why nothing was read; from `parallel`, which goes on with the other files.

    """

    name: str
    hits: dict[int, Kept] = field(default_factory=dict)
    probes: dict[str, Kept] = field(default_factory=dict)
    collected: dict[str, list[Any]] = field(default_factory=dict)
    total_bytes: int = 0
    lines: int = 0
    index: LineIndex = field(default_factory=LineIndex)
    head: bytes = b""
    tail: bytes = b""
    cut_off: str = ""
    compression: str = ""
    encoding: str = "utf-8"
    watched: list[Any] = field(default_factory=list)
    error: str = ""

    def __iter__(self) -> Iterator[RawHit]:
        """Every hit that was kept, in the order of the log."""
        hits = (hit for kept in self.hits.values() for hit in kept)
        return iter(sorted(hits, key=lambda hit: (hit.offset, hit.signature)))


def strip_prefixes(text: str) -> str:
    """What a pattern is searched in."""
    from doctor.logs.lines.prefixes import strip

    return strip(text).text


class Matcher:
    """All signatures and probes, ready to scan any number of streams.

    Args:
        signatures: their positions are how hits name them.
        probes: further lines that are wanted.
        strip: what cuts off prefixes before a pattern is tried.
        engine: "auto", "hyperscan", "ahocorasick" or "shapes".

    Raises:
        EngineMissing: the engine that was asked for is not installed.

    """

    def __init__(
        self,
        signatures: Sequence[Compiled],
        probes: Sequence[Probe] = (),
        *,
        strip: Callable[[str], str] = strip_prefixes,
        engine: str = "auto",
    ) -> None:
        self.signatures = tuple(signatures)
        self.probes = tuple(probes)
        self.strip = strip
        self.engine_name = engine
        self._patterns: dict[int, re.Pattern[str]] = {}
        owners: dict[bytes, list[int]] = {}
        for number, each in enumerate(self.signatures):
            for literal in each.wanted:
                owners.setdefault(literal, []).append(number)
        for number, probe in enumerate(self.probes):
            for literal in probe.literals:
                owners.setdefault(literal, []).append(-1 - number)
        self.literals = tuple(owners)
        #: literal -> signatures (from 0) and probes (from -1 downwards) that it serves
        self.owners = tuple(frozenset(each) for each in owners.values())
        self.engine: Engine = make_engine(self.literals, engine)

    def scan(self, stream: Stream, watcher: Watcher | None = None) -> RawHits:
        """Read a stream to its end.

        Raises:
            StreamError: it is packed in a way that cannot be unpacked here.

        """
        scan = Scan(self, stream.name, stream.offset, watcher)
        for chunk in stream:
            scan.feed(chunk)
        hits = scan.close()
        hits.cut_off, hits.compression, hits.encoding = stream.cut_off, stream.compression, stream.encoding
        return hits

    def search(self, number: int, text: str) -> re.Match[str] | None:
        """Try a signature on a stripped line."""
        pattern = self._patterns.get(number)
        if pattern is None:
            pattern = self._patterns[number] = re.compile(self.signatures[number].signature.pattern)
        text = in_english(text)
        if len(text) <= WINDOW:
            return pattern.search(text)
        for start in range(0, len(text) - WINDOW_OVERLAP, WINDOW - WINDOW_OVERLAP):
            if match := pattern.search(text[start : start + WINDOW]):
                return match
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another process must make anew."""
        return {key: value for key, value in self.__dict__.items() if key not in ("engine", "_patterns")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the engine anew."""
        self.__dict__.update(state, _patterns={}, engine=make_engine(state["literals"], state["engine_name"]))


class Scan:
    """The state of one pass: takes bytes as they come, for a log that still grows as well."""

    def __init__(
        self,
        matcher: Matcher,
        name: str = "",
        offset: int = 0,
        watcher: Watcher | None = None,
    ) -> None:
        self.hits = RawHits(name)
        self._matcher = matcher
        self._blocks = Blocks(offset)
        self._watcher = watcher
        self._told: set[int] = set()  # owners that the line which is not finished yet was told for
        self._held: list[tuple[LineCollector, Seen, int]] = []
        self._collectors = [each.collector() if each.collector else None for each in matcher.probes]
        #: owners of a line that nobody wants but one probe, whose collector takes it where it stands
        self._takers: dict[frozenset[int], tuple[int, Callable[[int, bytes, int, int], None]]] = {}
        for number, (probe, collector) in enumerate(zip(matcher.probes, self._collectors, strict=True)):
            take_at = getattr(collector, "take_at", None)
            if take_at is not None and not probe.placed:
                self._takers[frozenset((-1 - number,))] = (number, take_at)
        self._previous = b""  # the end of the block before, for probes that ask for what stands before a line
        self._keep_before = max((each.before_bytes for each in matcher.probes), default=0)
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._ends(data)
        for block in self._blocks.feed(data):
            self._block(block)

    def close(self) -> RawHits:
        """Take the last line and give the result."""
        for block in self._blocks.close():
            self._block(block)
        self._deliver(b"", final=True)
        hits = self.hits
        hits.total_bytes, hits.lines = self._blocks.total_bytes, self._blocks.line_count
        hits.tail = b"".join(self._tail)[-ENDS_BYTES:]
        if self._watcher is not None:
            hits.watched = [self._watcher.result()]
        for probe, collector in zip(self._matcher.probes, self._collectors, strict=True):
            if collector is not None:
                hits.collected[probe.name] = [collector.result()]
        return hits

    def _ends(self, data: bytes) -> None:
        if len(self.hits.head) < ENDS_BYTES:
            self.hits.head += data[: ENDS_BYTES - len(self.hits.head)]
        self._tail.append(data)
        self._tail_bytes += len(data)
        while self._tail_bytes - len(self._tail[0]) >= ENDS_BYTES:
            self._tail_bytes -= len(self._tail.popleft())

    def _block(self, block: Block) -> None:
        self.hits.index.add(block)
        if not block.continued:
            self._told = set()
        cleaned = Cleaned(block.data)
        data = cleaned.data
        if self._held:
            self._deliver(data)
        found = self._matcher.engine.find(data)
        seen: set[int] = set()
        if found:
            lines = _Lines(block, cleaned)
            for start, end, owners in lines.with_owners(found, self._matcher.owners):
                taker = self._takers.get(owners)
                if taker is not None and self._stands_alone(taker[0], start, len(data) - end):
                    seen.add(-1 - taker[0])
                    taker[1](lines.number(start), data, start, end)
                else:
                    self._line(lines, start, end, owners, seen)
            block.line_feeds = lines.line_feeds()
        elif block.line_feeds < 0:
            block.line_feeds = count_line_feeds(data, 0, len(data))
        if self._keep_before:
            before = data if len(data) >= self._keep_before else self._previous + data
            self._previous = before[-self._keep_before :]
        if self._watcher is not None:
            self._watcher.take(block, frozenset(self._matcher.probes[-1 - each].name for each in seen))

    def _stands_alone(self, number: int, before: int, behind: int) -> bool:
        """Whether all that a probe asks for around a line lies in its block, and no line waits to be told before it."""
        probe = self._matcher.probes[number]
        return not self._held and before > probe.before_bytes and behind > probe.behind_bytes

    def _line(self, lines: _Lines, start: int, end: int, owners: frozenset[int], seen: set[int]) -> None:
        told = self._told if start == 0 and lines.block.continued else set()
        number = lines.number(start)
        data = lines.data
        line = data[start:end]
        raw = text = ""
        place: tuple[int, int] | None = None
        for owner in sorted(owners - told) if len(owners) > 1 or told else owners:
            if owner < 0:
                seen.add(owner)
                told.add(owner)
                offset = lines.offset(start) if self._matcher.probes[-1 - owner].placed else -1
                self._probe(-1 - owner, (offset, number, line), data, start, end)
                continue
            if not raw:
                raw = line.decode("utf-8", "replace")
                text = self._matcher.strip(raw)
            if match := self._matcher.search(owner, text):
                told.add(owner)
                place = place or (lines.offset(start), number)
                self._hit(owner, place, raw, text, match)
        if end == len(data):
            self._told = told

    def _hit(self, owner: int, place: tuple[int, int], raw: str, text: str, match: re.Match[str]) -> None:
        kept = self.hits.hits.get(owner)
        if kept is None:
            kept = self.hits.hits[owner] = Kept.up_to(FIRST_HITS, LAST_HITS)
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        if len(text) > LINE_KEPT:
            found = match[0][:LINE_KEPT]
            at = max(text.find(found), 0)
            text = _shortened(text, at)
        hit = RawHit(owner, *place, raw[:LINE_KEPT], text, groups)
        kept.add(hit)

    def _probe(self, number: int, line: tuple[int, int, bytes], data: bytes, start: int, end: int) -> None:
        """Tell a probe of a line: its offset, its number and its bytes."""
        probe, collector = self._matcher.probes[number], self._collectors[number]
        if collector is None:
            kept = self.hits.probes.get(probe.name)
            if kept is None:
                kept = self.hits.probes[probe.name] = Kept.up_to(probe.first, probe.last)
            kept.add(Seen(line[0], line[1], line[2][:LINE_KEPT]))
            return
        before_bytes, behind_bytes = probe.before_bytes, probe.behind_bytes
        before = data[max(0, start - before_bytes) : start] if before_bytes else b""
        if start < before_bytes:
            before = (self._previous + before)[-before_bytes:]
        behind = data[end : end + behind_bytes]
        if len(behind) < behind_bytes or self._held:
            self._held.append((collector, _seen((*line, before, behind)), behind_bytes))
        else:
            collector.take(_seen((*line, before, behind)))

    def _deliver(self, data: bytes, *, final: bool = False) -> None:
        """Hand out lines that waited for what stands behind them."""
        held, self._held = self._held, []
        for collector, seen, wanted in held:
            whole = seen._replace(behind=seen.behind + data[: wanted - len(seen.behind)])
            if final or len(whole.behind) >= wanted:
                collector.take(whole)
            else:
                self._held.append((collector, whole, wanted))


def _shortened(text: str, at: int) -> str:
    """The beginning of a long line, for it says who speaks, and what surrounds the match."""
    start = max(at - 512, 512)
    return f"{text[:512]} … {text[start : start + LINE_KEPT - 512]}"


class _Lines:
    """Turns positions in a block into lines: their bounds, their offsets in the stream, their numbers."""

    def __init__(self, block: Block, cleaned: Cleaned) -> None:
        self.block, self.data = block, cleaned.data
        self._raw_offset = cleaned.raw_offset
        self._counted_to, self._lines = 0, block.lines_before + 1

    def with_owners(self, found: Found, owners: Sequence[frozenset[int]]) -> Iterator[tuple[int, int, frozenset[int]]]:
        """(start, end, owners of its literals) of each line that holds any."""
        data = self.data
        start, end, here = 0, -1, frozenset[int]()
        for literal, at in found:
            if at >= end:
                if here:
                    yield start, end, here
                start, end = piece_around(data, at)
                here = owners[literal]
            elif not owners[literal] <= here:
                here |= owners[literal]
        if here:
            yield start, end, here

    def number(self, start: int) -> int:
        """Number of the line that starts here; asked for in order."""
        self._lines += count_line_feeds(self.data, self._counted_to, start)
        self._counted_to = start
        return self._lines

    def line_feeds(self) -> int:
        """How many the block holds; each was counted once."""
        return self._lines - self.block.lines_before - 1 + count_line_feeds(self.data, self._counted_to, len(self.data))

    def offset(self, start: int) -> int:
        """Where in the stream the line that starts here starts."""
        return self.block.line_offset if start == 0 else self.block.offset + self._raw_offset(start)


def scan_text(matcher: Matcher, chunks: Iterable[bytes], name: str = "") -> RawHits:
    """Scan text that is in memory or made on the way."""
    return matcher.scan(Stream(name, chunks))
