"""From paths to a diagnosis: what `doctor postmortem` does, callable without a command line."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from doctor.core.index import Entry
from doctor.core.outcome import Outcome
from doctor.core.report import Diagnosis, Target
from doctor.core.signature import Hit
from doctor.core.suppress import Ignored, suppress
from doctor.logs import catalogue as catalogue_module
from doctor.logs import context as context_module
from doctor.logs.case import Builder, Case, line_of
from doctor.logs.catalogue import Catalogue
from doctor.logs.layouts import Source, sources
from doctor.logs.matcher import RawHit
from doctor.logs.prefixes import strip
from doctor.logs.ranking import Ranked, rank
from doctor.logs.scan import Scanner

_YEAR = re.compile(r"\b(20[1-9]\d)[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])\b")
_LONGEST_LINE = 1 << 20  # bytes; no metric line is longer
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
) -> Postmortem:
    """Read logs and say what went wrong first.

    Raises:
        NoLogs: nothing to read at the given paths.
        NotReadable: a log cannot be read.

    """
    started = time.monotonic()
    prepared = prepared or prepare()
    catalogue = prepared.catalogue
    given = context_module.read(context)
    found = sources(paths)
    case, hits, counts = _read(found, prepared.scanner, given)
    ranked = rank(case, hits, counts, catalogue)
    seconds = time.monotonic() - started
    outcome = Outcome(ranked.findings, (), ranked.crashed, catalogue.problems, seconds)
    outcome = suppress(outcome, ignored, None)
    target = Target(
        files=tuple(each.path for each in found), run_dir=run_dir, summary=tuple(_summary(case)),
    )  # fmt: skip
    verdict = ranked.verdict if outcome.findings else "healthy"
    diagnosis = Diagnosis(
        "postmortem", target, outcome, dict(catalogue.entries), language, seconds,
        verdict=verdict, chain=tuple(vars(each) for each in ranked.chain),
    )  # fmt: skip
    return Postmortem(diagnosis, case, ranked)


def _read(
    found: Sequence[Source], scanner: Scanner, given: context_module.Given
) -> tuple[Case, list[tuple[int, Hit]], dict[int, int]]:
    """Scan every source once; hits get process, rank, time and frames from the case."""
    scanned = scanner.scan(found)
    if unread := [each.error for each in scanned if each.error]:
        raise NotReadable("; ".join(unread))
    builder = Builder(given, _year(each.lines for each in scanned))
    for source, each in zip(found, scanned, strict=True):
        builder.add(source, each.lines, whole=each.whole, total=each.total_lines)
    case = builder.finish()
    hits: list[tuple[int, Hit]] = []
    counts: dict[int, int] = {}
    for index, each in enumerate(scanned):
        hits += [(hit.signature, _placed(case, index, hit, builder.year)) for hit in each.hits]
        for signature, count in each.counts.items():
            counts[signature] = counts.get(signature, 0) + count
    return case, hits, counts


def write_metrics(files: Sequence[str], path: Path) -> None:
    """Write every metric that the logs state as CSV, one row a value.

    Raises:
        NotReadable: standard input, which cannot be read a second time.
        OSError: the CSV cannot be written.
        StreamError: a log cannot be read any more.

    """
    from doctor.logs.metric_files import MetricsCsv
    from doctor.logs.metrics import read_lines
    from doctor.logs.streams import STDIN, open_stream

    if STDIN in files:
        msg = "metrics need a file: standard input cannot be read a second time"
        raise NotReadable(msg)
    with path.open("w", encoding="utf-8", newline="") as out:
        table = MetricsCsv(out)
        for each in files:
            with open_stream(each) as stream:
                table.write(read_lines(_lines(stream), each))


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of a stream, cut at line feeds and carriage returns."""
    tail = b""
    for chunk in chunks:
        *whole, tail = (tail + chunk).replace(b"\r", b"\n").split(b"\n")
        yield from whole
        if len(tail) > _LONGEST_LINE:
            tail = b""
    if tail:
        yield tail


def read_hits(paths: Sequence[str], prepared: Prepared) -> list[tuple[int, Hit]]:
    """What the patterns alone hit, whatever comes of it: (position of the signature, hit)."""
    _, hits, _ = _read(sources(paths), prepared.scanner, context_module.Given())
    return hits


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


def _summary(case: Case) -> Iterable[str]:
    """What was examined, one clause each."""
    yield f"{case.lines:,} lines in {len(case.sources)} file{'s' if len(case.sources) != 1 else ''}"
    if case.world_size:
        yield f"{case.world_size} ranks"
    if python := case.versions.get("python"):
        yield f"python {python}"
    for name in _PACKAGES_SHOWN:
        if version := case.versions.get(name):
            yield f"{name} {version}"
