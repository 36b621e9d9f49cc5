"""Signatures of our own for the tests of the scan, and the slow way to find them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from doctor.catalogue.signature import Signature
from doctor.logs.match.literal_engines import ENGINES, EngineMissing, make_engine
from doctor.logs.match.matcher import Compiled, Matcher, RawHits, scan_text, strip_prefixes


class Row(NamedTuple):
    """A pattern, a genuine message that it finds, and where that message is from."""

    source: str
    pattern: str
    sample: str


ROWS = [Row(*line.split("\t")) for line in Path(__file__).with_name("signatures.tsv").read_text().splitlines()[1:]]
OWN = tuple(Compiled("OWN", number, Signature(row.pattern)) for number, row in enumerate(ROWS))


def _installed(engine: str) -> bool:
    try:
        make_engine([b"literal"], engine)
    except EngineMissing:
        return False
    return True


INSTALLED = [each for each in ENGINES if _installed(each)]


def told(hits: RawHits) -> list[tuple[int, int, int]]:
    """(signature, offset, line) of every hit that was kept, in order."""
    return [(hit.signature, hit.offset, hit.line) for hit in hits]


def slowly(data: bytes) -> list[tuple[int, int, int]]:
    """The same by trying every pattern on every line."""
    found = []
    offset = 0
    for line in re.split(rb"(?<=[\r\n])", data):
        text = strip_prefixes(re.sub(rb"\x1b\[[0-9;]*m", b"", line.rstrip(b"\r\n")).decode("utf-8", "replace"))
        number = data.count(b"\n", 0, offset) + 1
        found += [(index, offset, number) for index, row in enumerate(ROWS) if re.search(row.pattern, text)]
        offset += len(line)
    return found


@cache
def _matcher_of_own(engine: str) -> Matcher:
    """Making an engine costs more than a short log."""
    return Matcher(OWN, engine=engine)


def by_all_engines(data: bytes, signatures: tuple[Compiled, ...] = OWN, portion: int = 1 << 16) -> RawHits:
    """Scan with every engine that is installed; they must agree."""
    results = []
    for engine in INSTALLED:
        chunks = (data[at : at + portion] for at in range(0, len(data), portion))
        matcher = _matcher_of_own(engine) if signatures is OWN else Matcher(signatures, engine=engine)
        results.append(scan_text(matcher, chunks, "log"))
    for each in results[1:]:
        assert told(each) == told(results[0])
        assert [kept.count for _, kept in sorted(each.hits.items())] == [
            kept.count for _, kept in sorted(results[0].hits.items())
        ]
    return results[0]
