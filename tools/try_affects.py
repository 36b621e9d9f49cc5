#!/usr/bin/env python3
"""Hold every `affects` range of the catalogue against the releases at its bounds, and print what could not be tried.

    python tools/try_affects.py --cache DIR                    all problems that name a range
    python tools/try_affects.py --cache DIR --only CKP019      one problem; --every reads all releases, not the bounds
    python tools/try_affects.py --cache DIR --offline          from the cache alone

A problem stands in a release where the words of its signatures stand in the release's own sources (what it raises, what
it warns), or where the witness of `affects/witnesses.toml` says so: a symbol, an argument, a guard. It has to stand in
the first and in the last release of its range, and in none beside a bound. The archives come from the package index,
are read as text and are never installed or run; what is kept of them lies in `--cache`, which must not be in the tree.
The exit status is 1 where a range disagrees with the sources.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from affects.bounds import Point, points
from affects.witness import Sentences, Witness, read_sources, witnesses
from affects.words import fragments
from apihistory.packages import LIBRARIES, Library
from apihistory.sources import SourceStore
from versiondata.index import Index, OfflineError

from doctor.catalogue.index import load
from doctor.catalogue.signature import Signature
from doctor.logs.match.signatures import load_signatures

TREE = Path(__file__).resolve().parent.parent
AGREES, DISAGREES, UNTRIED = "agrees", "disagrees", "could not try"
#: what is no distribution of Python sources on the index
_NO_SOURCES = {
    "python": "the interpreter is no distribution of the index",
    "torch": "its archives are too large to be read here",
    "nvidia-nccl-cu12": "it holds a binary library, no sources",
    "doctor": "any release of that name counts",
}


@dataclass(frozen=True)
class Range:
    """One library's range of one problem (or of one of its signatures).

    `more`: a check, or a signature without words of the library's, knows the problem as well, so that it may be there
    where the words are not. `own`: the range of one signature, which its words tell of before any witness does.
    """

    problem: str
    library: str
    specifier: str
    patterns: tuple[str, ...]
    more: bool = False
    own: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a range: one of the three words above, and why."""

    of: Range
    verdict: str
    detail: str


@dataclass
class Releases:
    """Sources of releases, fetched where the cache has none; the last few stay in memory."""

    store: SourceStore
    index: Index

    def __post_init__(self) -> None:
        """Begin with nothing read."""
        self._read: dict[tuple[str, str], dict[str, str]] = {}

    @cached_property
    def _libraries(self) -> dict[str, Library]:
        return {each.name.replace("_", "-"): each for each in LIBRARIES}

    def points(self, wanted: Range, *, every: bool) -> list[Point]:
        """Releases to be tried for a range."""
        library = self._library(wanted.library)
        return points(wanted.specifier, self.index.versions(library.name, "0"), every=every)

    def sources(self, name: str, point: Point) -> dict[str, str] | None:
        """Text by path of a release; None where no archive of it can be read."""
        key = name, str(point.version)
        if key not in self._read:
            archive = self.store.fetch(self._library(name), point.version)
            if archive is None:
                return None
            if len(self._read) > 3:  # a release of Transformers is 40 MB of text
                self._read.pop(next(iter(self._read)))
            self._read[key] = read_sources(archive)
        return self._read[key] or None

    def _library(self, name: str) -> Library:
        return self._libraries.get(name, Library(name, "0"))


def ranges(only: Sequence[str]) -> Iterator[Range]:
    """Yield all ranges of the catalogue; a signature with a range of its own is one more."""
    declared: dict[str, list[Signature]] = defaultdict(list)
    for each in load_signatures():
        declared[each.problem_id].append(each.signature)
    for entry in load():
        if only and entry.id not in only:
            continue
        signatures = declared[entry.id]
        shared = tuple(each.pattern for each in signatures if not each.affects)
        more = bool(entry.checks) or any(not fragments(each) for each in shared)
        yield from (Range(entry.id, name, spec, shared, more) for name, spec in entry.affects.items())
        for each in signatures:
            yield from (Range(entry.id, name, spec, (each.pattern,), own=True) for name, spec in each.affects.items())


def tried(wanted: Range, witness: Witness | None, releases: Releases, *, every: bool) -> Outcome:
    """Hold one range against the sources."""
    sentences = Sentences.read(wanted.patterns)
    if wanted.own and sentences.of:
        witness = None
    if witness is not None and witness.because:
        return Outcome(wanted, UNTRIED, witness.because)
    if wanted.library in _NO_SOURCES:
        return Outcome(wanted, UNTRIED, _NO_SOURCES[wanted.library])
    if witness is None and not sentences.of:
        return Outcome(wanted, UNTRIED, "no signature with words of the library's, and no witness")
    seen: list[tuple[Point, frozenset[int]]] = []
    unread: list[str] = []
    for point in releases.points(wanted, every=every):
        sources = releases.sources(wanted.library, point)
        if sources is None:
            unread.append(str(point.version))
        elif witness is not None:
            seen.append((point, frozenset([0] if witness.stands(sources) else [])))
        else:
            seen.append((point, sentences.standing(sources)))
    # a sentence that no later release has is told by none: only a stated upper end is to be right
    open_end = wanted.own and not re.search(r"<|==|~=", wanted.specifier)
    bounds = witness.bounds if witness is not None else "lower" if open_end else "both"
    return judged(wanted, seen, unread, bounds, by_words=witness is None)


def judged(wanted: Range, seen: Sequence[tuple[Point, frozenset[int]]], unread: Sequence[str], bounds: str,
           *, by_words: bool) -> Outcome:  # fmt: skip
    """Compare where the problem stands with where its range says that it does."""
    if not seen or (by_words and not any(stands for _, stands in seen)):
        return Outcome(wanted, UNTRIED, "no release that was read holds its words")
    counted = [each for each in seen if _counts(each[0], seen, bounds)]
    wrong = _runs([(str(point.version), bool(stands)) for point, stands in counted if bool(stands) != point.inside])
    read = _runs([(str(point.version), bool(stands)) for point, stands in seen])
    beside = any(stands and not point.inside for point, stands in counted)
    note = f"; not read: {', '.join(unread)}" if unread else ""
    if wrong and wanted.more and by_words and not beside:
        return Outcome(
            wanted, UNTRIED, f"more than words tells of it, and they are not in {wrong} (read: {read}{note})"
        )
    if wrong:
        return Outcome(wanted, DISAGREES, f"{wrong} (read: {read}{note})")
    if unread and len(counted) < 2:
        return Outcome(wanted, UNTRIED, f"no readable archive of {', '.join(unread)}")
    return Outcome(wanted, AGREES, f"read: {read}{note}")


def _runs(read: Sequence[tuple[str, bool]]) -> str:
    """``0.12.0 to 0.13.0 -, 0.14.0 +``: rows of releases that have it (+) or not (-)."""
    rows = [[version for version, _ in row] for _, row in groupby(read, key=lambda each: each[1])]
    signs = ["+" if stands else "-" for stands, _ in groupby(stands for _, stands in read)]
    ends = [f"{row[0]} to {row[-1]}" if len(row) > 1 else row[0] for row in rows]
    return ", ".join(f"{end} {sign}" for end, sign in zip(ends, signs, strict=True))


def _counts(point: Point, seen: Sequence[tuple[Point, frozenset[int]]], bounds: str) -> bool:
    """Whether a release lies at an end of the range that the witness tells of."""
    first = min(each.version for each, _ in seen if each.inside) if any(p.inside for p, _ in seen) else point.version
    last = max((each.version for each, _ in seen if each.inside), default=point.version)
    if bounds == "lower":
        return point.version <= first
    return bounds == "both" or point.version >= last


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="directory that keeps what was read of the releases")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="try these problems alone")
    parser.add_argument("--every", action="store_true", help="read all releases of the index, not those at the bounds")
    parser.add_argument("--offline", action="store_true", help="use the cache alone")
    options = parser.parse_args(arguments)
    if options.cache.resolve().is_relative_to(TREE):
        parser.error(f"{options.cache} lies in the tree of the project")
    index = Index(options.cache / "cache", offline=options.offline)
    releases = Releases(SourceStore(options.cache / "src", index), index)
    table, outcomes = witnesses(), []
    for wanted in sorted(ranges(options.only), key=lambda each: (each.library, each.problem)):
        try:
            outcome = tried(wanted, table.get((wanted.problem, wanted.library)), releases, every=options.every)
        except (OfflineError, OSError, RuntimeError) as exc:
            outcome = Outcome(wanted, UNTRIED, f"{type(exc).__name__}: {exc}")
        outcomes.append(outcome)
        print(f"{outcome.verdict}: {wanted.problem} {wanted.library}{wanted.specifier}: {outcome.detail}", flush=True)
    counts = {each: sum(outcome.verdict == each for outcome in outcomes) for each in (AGREES, DISAGREES, UNTRIED)}
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts[DISAGREES] else 0


if __name__ == "__main__":
    sys.exit(main())
