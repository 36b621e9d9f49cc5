"""One pass over the logs: signature hits, and the passages that are read line by line."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import field
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from doctor.base.record import record, replace
from doctor.logs.lines.learnt import without_head
from doctor.logs.lines.prefixes import has_slurm_labels, strip
from doctor.logs.match.matcher import Compiled, Matcher, Probe, RawHit, RawHits, Scan
from doctor.logs.metrics.lines import METRICS, MetricLines, ToldRange, ToldRows, numbered
from doctor.logs.metrics.lines import probe as metric_probe
from doctor.logs.read import notebooks
from doctor.logs.read.json_records import Unfolded
from doctor.logs.read.layouts import elastic_error_lines
from doctor.logs.read.parallel import FileRange, scan
from doctor.logs.read.passages import ANCHORS, Kept, joined
from doctor.logs.read.rejoined import LARGEST_BYTES, Rejoined, of_text, rejoined
from doctor.logs.read.streams import STDIN, StreamError, open_stream

#: blocks kept at the start and at the end of each of very many logs
BRIEF_HEAD, BRIEF_TAIL = 1, 3
_PEEK_BYTES = 16_384


@record
class Scanned:
    """What a pass over one log gave: kept lines, hits in order, how many there were of each signature, metric lines.

    `whole`: every line was kept. `error`: why it could not be read, `cut_off`: why not to its end; "" otherwise.
    `labelled`: srun wrote a task number before each line. `told`: ranges and their line feeds, see `metric_lines`.
    `numbers`: of lines that were put together the numbers in the file, () where each line stands for itself.
    """

    lines: list[tuple[int, str]]
    hits: list[RawHit]
    counts: dict[int, int] = field(default_factory=dict)
    total_lines: int = 0
    whole: bool = True
    cut_off: str = ""
    error: str = ""
    labelled: bool = False
    told: tuple[tuple[ToldRange, ...], tuple[int, ...]] = ((), ())
    numbers: tuple[int, ...] = ()

    def metric_lines(self) -> Iterator[ToldRows]:
        """Metric lines in order; can be asked for once."""
        for each in numbered(*self.told):
            yield replace(each, lines=[self.numbers[at - 1] for at in each.lines]) if self.numbers else each

    @property
    def lost(self) -> str:
        """Why metric lines are missing; "" where none are."""
        return "; ".join(dict.fromkeys(each.lost for each in self.told[0] if each.lost))


class Scanner:
    """All signatures, ready for any number of logs; making the engine costs more than reading a small log.

    One that goes to another process takes the signatures along and makes its own engine.
    """

    def __init__(self, signatures: Sequence[Compiled]) -> None:
        """Take the signatures; an engine is made when it is needed."""
        self.signatures = signatures
        self._alike = _alike(signatures)
        self._matchers: dict[bool, Matcher] = {}
        self.every_metric = False
        self._for_a_table: Scanner | None = None
        self.folder = _own_folder()
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def file(self, path: str, *, brief: bool = False) -> Scanned:
        """Read a log once.

        Args:
            path: the log.
            brief: keep less of it, for there are many.

        """
        lines = _in_json(path)
        if lines is not None:
            return self._lines(path, lines)
        if (whole := rejoined(path)) is not None:
            return _as_written(self._lines(path, list(whole.lines)), whole)
        labels = is_labelled(path)
        if not labels and (cut := without_head(path)) is not None:
            return self._lines(path, cut)
        watcher = Kept(BRIEF_HEAD, BRIEF_TAIL, pack=False) if brief else Kept(pack=False)
        return self.scanned(scan(FileRange(path), self.matcher(labels=labels), watcher), labels)

    def for_a_table(self) -> Scanner:
        """One that keeps every metric, where this keeps what is judged or drawn; it lives no longer than this one."""
        if self._for_a_table is None:
            found = copy(self)
            found.every_metric, found._matchers = True, {}  # noqa: SLF001 - its own
            self._for_a_table = found
        return self._for_a_table

    def part(self, part: FileRange) -> RawHits:
        """Read a range of a log; its hits name those that the matcher tries, see `scanned`."""
        return scan(part, self.matcher(labels=is_labelled(part.path)), Kept())

    def stdin(self) -> Scanned:
        """Scan standard input, whose first portion tells whether srun labelled it."""
        try:
            with open_stream(STDIN) as stream:
                portions = iter(Unfolded(stream))
                held = _up_to(portions, LARGEST_BYTES)
                pasted = b"".join(held)
                if len(pasted) <= LARGEST_BYTES and not stream.cut_off and (whole := of_text(pasted)) is not None:
                    return _as_written(self._lines(stream.name, list(whole.lines)), whole)
                labels = _has_labels(held[0] if held else b"")
                one_pass = Scan(self.matcher(labels=labels), stream.name, 0, Kept(pack=False))
                for portion in chain(held, portions):
                    one_pass.feed(portion)
                hits = one_pass.close()
                hits.cut_off, hits.compression, hits.encoding = stream.cut_off, stream.compression, stream.encoding
        except StreamError as error:
            return Scanned([], [], error=str(error))
        return self.scanned(hits, labels)

    def matcher(self, *, labels: bool = False) -> Matcher:
        """What scans; `labels`: a log that srun labelled."""
        if labels not in self._matchers:
            anchors = (Probe(name, words, first=0, last=0, placed=False) for name, words in ANCHORS.items())
            probes = (*anchors, metric_probe(partial(MetricLines, self.folder, every=self.every_metric)))
            cut = strip_labelled if labels else strip_text
            tried = [self.signatures[each[0]] for each in self._alike]
            self._matchers[labels] = Matcher(tried, probes, strip=cut)
        return self._matchers[labels]

    def _lines(self, path: str, lines: list[str]) -> Scanned:
        one_pass = Scan(self.matcher(), path, 0, Kept(pack=False))
        one_pass.feed("\n".join(lines).encode("utf-8", "replace"))  # JSON may hold half of a surrogate pair
        return self.scanned(one_pass.close(), labels=False)

    def scanned(self, hits: RawHits, labels: bool) -> Scanned:
        """What the passes over all ranges of a log gave, joined; a hit is one of every signature that asks the same."""
        counts = {each: kept.count for tried, kept in hits.hits.items() for each in self._alike[tried]}
        found = [hit._replace(signature=each) for hit in hits for each in self._alike[hit.signature]]
        found.sort(key=attrgetter("offset", "signature"))
        reading = joined(hits.watched)
        told = tuple(hits.collected.get(METRICS, ())), tuple(each.lines for each in hits.watched)
        return Scanned(
            reading.lines, found, counts, hits.lines, reading.whole and not hits.cut_off, hits.cut_off, hits.error,
            labels, told if not hits.error else ((), ()),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the engines."""
        return {**self.__dict__, "_matchers": {}, "_for_a_table": None}


def _up_to(portions: Iterator[bytes], size: int) -> list[bytes]:
    """The first portions of a stream, until they are more than so many bytes."""
    held: list[bytes] = []
    while size >= 0 and (portion := next(portions, None)) is not None:
        held.append(portion)
        size -= len(portion)
    return held


def _as_written(read: Scanned, whole: Rejoined) -> Scanned:
    """What was read of lines that were put together, with their numbers in the file."""
    numbers = whole.numbers
    hits = [each._replace(line=numbers[each.line - 1]) for each in read.hits]
    lines = [(numbers[number - 1], text) for number, text in read.lines]
    return replace(read, lines=lines, hits=hits, total_lines=whole.total, numbers=numbers)


def _own_folder() -> str:
    """Name of a folder for what does not fit into memory; "" where there is no place for temporary files.

    The first file makes it: most logs need none, and a process that is killed leaves none behind.
    """
    try:
        return str(Path(tempfile.gettempdir()) / f"doctor-metrics-{os.urandom(8).hex()}")
    except OSError:
        return ""


def strip_text(text: str) -> str:
    """What a pattern is searched in."""
    return strip(text).text


def strip_labelled(text: str) -> str:
    """The same for a file that ``srun --label`` wrote."""
    return strip(text, slurm_labels=True).text


def _alike(signatures: Sequence[Compiled]) -> tuple[tuple[int, ...], ...]:
    """Positions of the signatures that ask the same of a line; where it was raised tells them apart, afterwards.

    A line with an exception of a common kind is one of a dozen problems; trying each made logs full of them slow.
    """
    alike: dict[object, list[int]] = {}
    for number, each in enumerate(signatures):
        asked = each.signature.pattern, each.signature.keywords, each.literals
        alike.setdefault(asked, []).append(number)
    return tuple(map(tuple, alike.values()))


def is_labelled(path: str) -> bool:
    """Whether srun labelled the lines of a file, packed or not; told by the first of them."""
    if not Path(path).is_file():
        return False
    try:
        with open_stream(path, explicit=False) as stream:
            return _has_labels(next(iter(stream), b""))
    except StreamError:
        return False


def _has_labels(first: bytes) -> bool:
    lines = first[:_PEEK_BYTES].decode("utf-8", "replace").split("\n")  # a bar has one label, however often it is drawn
    return has_slurm_labels(islice(lines[:-1] or lines, 200))


def _in_json(path: str) -> list[str] | None:
    """Lines of a notebook's outputs, or of an error file of torch's elastic launcher; None for every other file."""
    if notebooks.is_notebook(path):
        return notebooks.output_lines(Path(path).read_text("utf-8", "replace"))
    if not path.endswith(".json") or not Path(path).is_file() or Path(path).stat().st_size > 1 << 20:
        return None
    return elastic_error_lines(Path(path).read_text("utf-8", "replace"))
