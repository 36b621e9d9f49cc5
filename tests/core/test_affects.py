"""`tools/try_affects.py`: which words of a pattern are looked for in a release, which end of a range they tell of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from affects.bounds import Point  # noqa: E402
from affects.words import fragments  # noqa: E402
from packaging.version import Version  # noqa: E402
from try_affects import AGREES, DISAGREES, Range, judged  # noqa: E402


@pytest.mark.parametrize(
    "pattern",
    [
        "ValueError: You need to install `x` first",
        "(?:ImportError|ValueError): You need to install `x` first",
        "(?P<kind>Key|Value)Error: You need to install `x` first",
        "torch.cuda.OutOfMemoryError: You need to install `x` first",
    ],
)
def test_the_name_of_an_exception_is_no_word_of_the_source(pattern: str) -> None:
    found = fragments(pattern)
    assert any("You need to install `x` first" in each for each in found)
    assert all(not each.startswith((":", " ")) for each in found)


def _seen(*stands: bool, inside: tuple[bool, ...]) -> list[tuple[Point, frozenset[int]]]:
    versions = (Version(f"1.{number}") for number in range(len(stands)))
    return [
        (Point(version, within), frozenset([0] if stand else []))
        for version, stand, within in zip(versions, stands, inside, strict=True)
    ]


@pytest.mark.parametrize(
    ("specifier", "bounds", "stands", "verdict"),
    [
        (">=1.1", "lower", (False, True, False), AGREES),  # the sentence went later, and no release tells it wrongly
        (">=1.1", "both", (False, True, False), DISAGREES),
        (">=1.1", "lower", (True, True, True), DISAGREES),  # the range begins too late
        (">=1.1", "lower", (False, False, True), DISAGREES),  # and too early
    ],
)
def test_which_end_is_wrong(specifier: str, bounds: str, stands: tuple[bool, ...], verdict: str) -> None:
    wanted = Range("X001", "x", specifier, ("some sentence of it",), own=True)
    told = judged(wanted, _seen(*stands, inside=(False, True, True)), [], bounds, by_words=True)
    assert told.verdict == verdict, told.detail
