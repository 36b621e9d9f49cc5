"""One pass over the logs: signature hits, and the passages that are read line by line."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path

from doctor.logs.layouts import Source, elastic_error_lines
from doctor.logs.matcher import Compiled, Matcher, Probe, RawHit, RawHits, Scan
from doctor.logs.metric_lines import METRICS, MetricLines, Told, ToldRange, numbered
from doctor.logs.metric_lines import probe as metric_probe
from doctor.logs.parallel import scan_all
from doctor.logs.passages import ANCHOR, ANCHORS, Kept, joined
from doctor.logs.prefixes import has_slurm_labels, strip
from doctor.logs.streams import STDIN, StreamError, open_stream

_PEEK_BYTES = 16_384


@dataclass(frozen=True)
class Scanned:
    """What a pass over one log gave: kept lines, hits in order, how many there were of each signature, metric lines.

    `whole`: every line was kept. `error`: why it could not be read, `cut_off`: why not to its end; "" otherwise.
    `labelled`: srun wrote a task number before each line. `told`: ranges and their line feeds, see `metric_lines`.
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

    def metric_lines(self) -> Iterator[Told]:
        """Metric lines in order; can be asked for once."""
        return numbered(*self.told)

    @property
    def lost(self) -> str:
        """Why metric lines are missing; "" where none are."""
        return "; ".join(dict.fromkeys(each.lost for each in self.told[0] if each.lost))


class Scanner:
    """All signatures, ready for any number of logs; making the engine costs more than reading a small log."""

    def __init__(self, signatures: Sequence[Compiled]) -> None:
        """Take the signatures; an engine is made when it is needed."""
        self._signatures = signatures
        self._matchers: dict[bool, Matcher] = {}
        self._folder = _own_folder()
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def scan(self, found: Sequence[Source]) -> list[Scanned]:
        """Read every log once, in the order given; large ones on several cores."""
        results: dict[str, Scanned] = {}
        files = [each.path for each in found if each.path != STDIN]
        labelled = {path for path in files if _labelled(path)}
        for labels in (False, True):
            paths = [path for path in files if (path in labelled) is labels]
            errors = {path: lines for path in paths if (lines := _error_file(path)) is not None}
            for path, lines in errors.items():
                results[path] = self._scan_lines(path, lines)
            plain = [path for path in paths if path not in errors]
            if plain:
                hits = scan_all(plain, self._matcher(labels=labels), watcher=Kept)
                results.update((path, _scanned(each, labels)) for path, each in zip(plain, hits, strict=True))
        if len(files) < len(found):
            results[STDIN] = self._scan_stdin()
        return [results[each.path] for each in found]

    def _matcher(self, *, labels: bool) -> Matcher:
        if labels not in self._matchers:
            probes = (Probe(ANCHOR, ANCHORS, first=0, last=0), metric_probe(partial(MetricLines, self._folder)))
            cut = strip_labelled if labels else strip_text
            self._matchers[labels] = Matcher(self._signatures, probes, strip=cut)
        return self._matchers[labels]

    def _scan_stdin(self) -> Scanned:
        """Scan standard input, whose first portion tells whether srun labelled it."""
        try:
            with open_stream(STDIN) as stream:
                portions = iter(stream)
                first = next(portions, b"")
                labels = _has_labels(first)
                one_pass = Scan(self._matcher(labels=labels), stream.name, 0, Kept())
                for portion in chain((first,), portions):
                    one_pass.feed(portion)
                hits = one_pass.close()
                hits.cut_off, hits.compression, hits.encoding = stream.cut_off, stream.compression, stream.encoding
        except StreamError as error:
            return Scanned([], [], error=str(error))
        return _scanned(hits, labels)

    def _scan_lines(self, path: str, lines: list[str]) -> Scanned:
        one_pass = Scan(self._matcher(labels=False), path, 0, Kept())
        one_pass.feed("\n".join(lines).encode())
        return _scanned(one_pass.close(), labels=False)


def _own_folder() -> str:
    """A folder for what does not fit into memory; "" where none can be made, which shows when it is needed."""
    try:
        return tempfile.mkdtemp(prefix="doctor-metrics-")
    except OSError:
        return ""


def strip_text(text: str) -> str:
    """What a pattern is searched in."""
    return strip(text).text


def strip_labelled(text: str) -> str:
    """The same for a file that ``srun --label`` wrote."""
    return strip(text, slurm_labels=True).text


def _scanned(hits: RawHits, labels: bool) -> Scanned:
    counts = {signature: each.count for signature, each in hits.hits.items()}
    reading = joined(hits.watched)
    told = tuple(hits.collected.get(METRICS, ())), tuple(each.lines for each in hits.watched)
    return Scanned(
        reading.lines, list(hits), counts, hits.lines, reading.whole and not hits.cut_off, hits.cut_off, hits.error,
        labels, told if not hits.error else ((), ()),
    )  # fmt: skip


def _labelled(path: str) -> bool:
    """Whether srun labelled the lines of a file, packed or not; told by the first of them."""
    if not Path(path).is_file():
        return False
    try:
        with open_stream(path, explicit=False) as stream:
            return _has_labels(next(iter(stream), b""))
    except StreamError:
        return False


def _has_labels(first: bytes) -> bool:
    lines = first[:_PEEK_BYTES].decode("utf-8", "replace").splitlines()
    return has_slurm_labels(islice(lines[:-1] or lines, 200))


def _error_file(path: str) -> list[str] | None:
    """Lines of an error file of torch's elastic launcher; None for every other file."""
    if not path.endswith(".json") or not Path(path).is_file() or Path(path).stat().st_size > 1 << 20:
        return None
    return elastic_error_lines(Path(path).read_text("utf-8", "replace"))
