"""Turns a case of `tests/rules/<ID>.yaml` into a series, feeds it to that one rule and compares.

A case holds `series`: metric -> values, row by row in the order of the mapping, and expects `found` (list, in order) or
`silent: true`. A value is a number (`nan`, `inf`), `-` for a row without this metric, or text:
  `0.5 x20`       twenty times
  `1..8 x40`      forty values from 1 to 8
  `0.5~0.2 x30`   thirty values around 0.5 that scatter by 20 %
`step`: step of the first row (1); `every`: steps from row to row (1); `seconds`: from row to row, else without a time.
`found` holds `at` (step at which the rule was sure, or `end`), and parts of the finding: `began` (where.step),
`severity`, `confidence`, `headline`, `explanation`, `remedy` (substrings).
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import Point

KEYS = {"series", "step", "every", "seconds", "found", "silent"}
EXPECTED = {"at", "began", "severity", "confidence", "headline", "explanation", "remedy"}
BEGAN_NS = 1_790_000_000 * 10**9
_REPEAT = re.compile(r"(.+?)(?: x(\d+))?")


def spelled_out(values: Any) -> list[float | None]:
    items = values if isinstance(values, list) else [values]
    return [value for item in items for value in _item(str(item))]


def _item(text: str) -> Iterator[float | None]:
    match = _REPEAT.fullmatch(text)
    assert match is not None, text
    what, count = match[1], int(match[2] or 1)
    if what == "-":
        yield from [None] * count
    elif ".." in what:
        low, high = (float(each) for each in what.split(".."))
        yield from (low + (high - low) * number / max(1, count - 1) for number in range(count))
    elif "~" in what:
        middle, share = (float(each) for each in what.split("~"))
        yield from (middle * (1 + share * math.sin(2.399 * number)) for number in range(count))
    else:
        yield from [float(what)] * count


def points_of(case: Mapping[str, Any]) -> Iterator[Point]:
    series = {name: spelled_out(values) for name, values in case["series"].items()}
    first, every = case.get("step", 1), case.get("every", 1)
    lengths = {len(values) for values in series.values()}
    assert len(lengths) == 1, f"rows differ: { {name: len(values) for name, values in series.items()} }"
    for row in range(lengths.pop()):
        for name, values in series.items():
            value = values[row]
            if value is not None:
                t_ns = BEGAN_NS + int(row * case["seconds"] * 1e9) if "seconds" in case else None
                own, _, rank = name.partition("@")  # `loss@1`: told by rank 1
                place = f"train.log:{row + 1}"
                yield Point(own, value, first + row * every, t_ns, int(rank) if rank else None, source=place)


def run_case(entry: Entry, case: Mapping[str, Any]) -> list[tuple[Any, Finding]]:
    """(step at which it was found or "end", finding)."""
    assert set(case) <= KEYS, f"unknown keys {set(case) - KEYS}"
    engine = RuleEngine(load_rules([entry.module]))
    found = [(point.step, finding) for point in points_of(case) for finding in engine.feed(point)]
    found += [("end", finding) for finding in engine.close()]
    assert not engine.crashed, engine.crashed
    return found


def compare(case: Mapping[str, Any], found: list[tuple[Any, Finding]]) -> None:
    assert ("found" in case) != ("silent" in case), "a case expects findings or silence"
    wanted = case.get("found", [])
    said = [(at, finding.words().headline) for at, finding in found]
    assert len(found) == len(wanted), f"expected {len(wanted)} findings, got {said}"
    for (at, finding), want in zip(found, wanted, strict=True):
        assert set(want) <= EXPECTED, f"unknown expectation {set(want) - EXPECTED}"
        assert at == want["at"], f"found at {at}, expected {want['at']}: {said}"
        words = finding.words()
        for key in ("headline", "explanation", "remedy"):
            assert want.get(key, "") in getattr(words, key), (key, getattr(words, key))
        assert want.get("severity", finding.severity.value) == finding.severity.value
        assert want.get("confidence", finding.confidence.value) == finding.confidence.value
        assert want.get("began", finding.where.step) == finding.where.step
        assert finding.words("zh").headline != words.headline
        assert finding.where.file == "train.log"
        assert finding.evidence


def module_of(entry: Entry) -> Any:
    return importlib.import_module(entry.module)
