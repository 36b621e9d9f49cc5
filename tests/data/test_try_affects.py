"""The tool that holds ranges of the catalogue against the sources of releases: it must see a bound that is wrong."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from affects.bounds import Point, points
from affects.witness import Sentences, Witness, witnesses
from affects.words import fragments, joined
from packaging.version import Version
from try_affects import AGREES, DISAGREES, UNTRIED, Range, judged

from doctor.catalogue.index import load

RELEASES = [Version(f"0.{minor}") for minor in range(20)]


@pytest.mark.parametrize("seed", range(60))
def test_a_range_agrees_only_where_both_of_its_ends_are_those_of_the_sources(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a reproducible choice of cases
    first, said_first = chance.randint(1, 8), chance.randint(1, 8)
    last, said_last = chance.randint(10, 18), chance.randint(10, 18)
    specifier = f">=0.{said_first},<0.{said_last}"
    seen = [
        (point, frozenset([0] if first <= point.version.minor < last else []))
        for point in points(specifier, RELEASES)
    ]  # fmt: skip
    outcome = judged(Range("ABC001", "lib", specifier, ()), seen, (), "both", by_words=False)
    assert outcome.verdict == (AGREES if (first, last) == (said_first, said_last) else DISAGREES)


def test_words_that_came_later_do_not_speak_against_a_check() -> None:
    wanted = Range("ABC001", "lib", ">=0.5", (), more=True)
    seen = [(Point(Version("0.4"), inside=False), frozenset()), (Point(Version("0.5"), inside=True), frozenset()),
            (Point(Version("0.19"), inside=True), frozenset([0]))]  # fmt: skip
    assert judged(wanted, seen, (), "both", by_words=True).verdict == UNTRIED
    seen[0] = (seen[0][0], frozenset([0]))
    assert judged(wanted, seen, (), "both", by_words=True).verdict == DISAGREES


@pytest.mark.parametrize(
    ("specifier", "tried"),
    [
        ("<0.3", "0 2 3"),
        (">=0.3", "2 3 19"),
        (">=0.3,<0.7", "2 3 6 7"),
        ("==0.4", "3 4 5"),
        (">=0", "0 19"),
        (">9", ""),
    ],
)
def test_the_releases_at_the_bounds_are_tried(specifier: str, tried: str) -> None:
    assert [str(each.version.minor) for each in points(specifier, RELEASES)] == tried.split()


def test_a_sentence_is_found_however_its_source_is_broken() -> None:
    pattern = r"^ValueError: The batch of (?P<count>\d+) rows must be evenly divisible by the group"
    (runs,) = Sentences.read([pattern]).of
    assert runs == ("rows must be evenly divisible by the group",)
    source = 'raise ValueError(\n    f"The batch of {n} rows must be "\n    "evenly divisible "  "by the group"\n)\n'
    assert Sentences.read([pattern]).standing({"a.py": joined(source)}) == {0}
    assert not Sentences.read([pattern]).standing({"a.py": joined(source.replace("evenly", "oddly"))})
    assert fragments(r"^KeyError: '\w+'") == ()


def test_a_witness_needs_all_that_it_has_and_nothing_that_it_lacks() -> None:
    witness = Witness(files=r"b\.py$", has=("one", "two"), lacks=("three",))
    assert witness.stands({"a/b.py": "one two"})
    assert not witness.stands({"a/b.py": "one", "c/b.py": "two"})
    assert not witness.stands({"a/b.py": "one two", "c/b.py": "three"})
    assert not witness.stands({"a/c.py": "one two"})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the table is read by Python's own tomllib")
def test_every_witness_belongs_to_a_range_and_can_be_searched_for() -> None:
    ranges = {(entry.id, name) for entry in load() for name in entry.affects}
    table = witnesses()
    assert set(table) <= ranges
    for each in table.values():
        for pattern in (each.files, *each.has, *each.lacks):
            re.compile(pattern)
