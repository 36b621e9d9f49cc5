from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.catalogue.signature import Signature
from doctor.logs.match.lint import lint, per_megabyte
from doctor.logs.match.literals import SHORTEST, literals_of, required_strings, with_escapes
from tests.logs.log_helpers import ROWS


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("CUDA out of memory", {"CUDA out of memory"}),
        (r"'loss': (nan|inf)", {"'loss': nan", "'loss': inf"}),
        (r"(?:^|\.)OutOfMemoryError: ", {"OutOfMemoryError: "}),
        (r"rank (?P<rank>\d+) and rank (?P<other>\d+) both", {" and rank "}),
        (r"colou?r of", {"colour of", "color of"}),
        (r"[Aa]ddress already", {"Address already", "address already"}),
        (r"(alpha|beta\d+gamma)", {"alpha", "gamma"}),
        (r"(ab|cd.{0,9})xyzzy", {"xyzzy"}),
        (r"x{3}yyyy", {"xxxyyyy"}),
        (r"(?:ab)+cdefg", {"cdefg"}),
        (r"\bwatch(?=ing)ing$", {"watching"}),
        (r"(long literal|)", set()),
        (r"(?i)hello world", set()),
        (r"(?i:hello) 1234", {" 1234"}),
        (r"a.b", set()),
        (r"显存不足\d", {"显存不足"}),
        (r"(a|b|c|d)(e|f|g|h)(i|j|k|l)mnopq", {"imnopq", "jmnopq", "kmnopq", "lmnopq"}),
    ],
)
def test_literals_of_patterns(pattern, literals) -> None:
    assert required_strings(pattern) == literals


def test_keywords_stand_for_what_is_derived() -> None:
    assert literals_of(Signature("(?i)out of memory", keywords=("out of memory", "OOM!"))) == (
        b"out of memory",
        b"OOM!",
    )


def test_escapes_of_json() -> None:
    assert set(with_escapes([b'say "<a>"'])) == {b'say "<a>"', b'say \\"<a>\\"', b'say \\"\\u003ca\\u003e\\"'}
    assert set(with_escapes(["é".encode()])) == {"é".encode(), b"\\u00e9"}
    assert with_escapes([b"plain words"]) == (b"plain words",)


#: a piece of a pattern, and texts that it matches
PIECES = {
    r"\d": ("0", "7", "٣"), r"\w+": ("a", "é_9", "word"), "[ab]": ("a", "b"), "[^x\n]{0,5}": ("", "yz", "\r é"),
    ".": ("a", "*", "é"), ".{0,4}": ("", "zz", "a b"), "^": ("",), "$": ("",), r"\b": ("",), "[a-z]{2}": ("qz", "ab"),
}  # fmt: skip
TIMES = {"?": (0, 1), "{2}": (2,), "{1,2}?": (1, 2), "*": (0, 1, 4), "+": (1, 3), "{0,3}": (0, 3), "{3,}": (3, 5)}
FEW, ALL = 3, 7  # of TIMES, the first ones and all: unbounded ones in one another take hours to match nothing


def _drawn(chance: random.Random, depth: int, times: int = ALL) -> tuple[str, str]:
    """A pattern, and a text that it matches unless an anchor in it forbids that."""
    kinds = ("word", "word", "piece", "row", "row", "choice", "times", "group", "blind")
    kind = chance.choice(kinds[: None if depth else 3])
    if kind == "word":
        word = "".join(chance.choices("abcdXYZ '", k=chance.randint(1, 6)))
        return re.escape(word), word
    if kind == "piece":
        piece = chance.choice([each for each in PIECES if times == ALL or each[-1] not in "+}"])
        return piece, chance.choice(PIECES[piece])
    if kind in ("row", "choice"):
        parts = [_drawn(chance, depth - 1, times) for _ in range(chance.randint(2, 4))]
        patterns, texts = ([part[at] for part in parts] for at in (0, 1))
        if kind == "row":
            return "".join(patterns), "".join(texts)
        return f"(?:{'|'.join(patterns)})", chance.choice(texts)
    pattern, text = _drawn(chance, depth - 1, FEW if kind == "times" else times)
    if kind == "times":
        chosen = chance.choice([*TIMES][:times])
        return f"(?:{pattern}){chosen}", text * chance.choice(TIMES[chosen])
    return (f"({pattern})", text) if kind == "group" else (f"(?i:{pattern})", chance.choice([text, text.swapcase()]))


def test_whatever_matches_holds_a_literal() -> None:
    tried = 0
    for seed in range(5_000):
        chance = random.Random(seed)  # noqa: S311 - made up, and the same in every run
        pattern, text = _drawn(chance, 3)
        try:
            literals = required_strings(pattern)
            compiled = re.compile(pattern)
        except (re.error, OverflowError):
            continue
        around = [chance.choice(["", "\n", "ab", "Xé "]) for _ in range(2)]
        match = compiled.search(text.join(around))
        if not literals or match is None:
            continue
        tried += 1
        assert any(each in match[0] for each in literals), (pattern, match[0], literals)
        assert min(len(each.encode()) for each in literals) >= SHORTEST
    assert tried > 1000


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("abcd(", "no regular expression"),
        ("ab.{0,9}cd", "no literal"),
        ("(?i)out of memory", "blind to case"),
        (r"cannot open '[^']+' here", "line end"),
        (r"cannot open '[^'\n]+' here", "without bound"),
        (r"cannot open .*", "at an end"),
        (r".+ cannot open", "at an end"),
        (r"cannot open (?P<name>.+)$", "at an end"),
        (r"cannot .* open", "without bound"),
        (r"cannot open\nit", "line end"),
        (r"cannot (?:a+)+ open", "inside another"),
        (r"cannot \d+\w+ open", "same characters"),
        (r"cannot \s*\s* open", "same characters"),
        (r"one.{0,300}two.{0,300}three.{0,300}four", "ways"),
    ],
)
def test_faults_of_patterns(pattern, fault) -> None:
    assert any(fault in each for each in lint(Signature(pattern))), lint(Signature(pattern))


def test_faults_of_keywords_and_frames() -> None:
    assert any("shorter" in each for each in lint(Signature("(?i)out of memory", keywords=("oom",))))
    assert not lint(Signature("(?i)out of memory", keywords=("out of memory",)))
    assert any("no regular expression" in each for each in lint(Signature("cannot open", frame="(")))


@pytest.mark.parametrize("row", ROWS, ids=[row.pattern[:40] for row in ROWS])
def test_good_patterns_have_no_faults(row) -> None:
    assert lint(Signature(row.pattern)) == []
    assert max(len(each) for each in literals_of(Signature(row.pattern))) >= 8


@pytest.mark.parametrize(
    "pattern",
    [
        r"at (?P<url>\S+) after",
        r"name (?P<a>[^\s]{1,100}) is",
        r"of (?P<n>\d+), (?P<m>\d+) left",
        r"found .{0,80} in .{0,80} there",
        r"'[^'\n]{1,300}' and '[^'\n]{1,300}' and '[^'\n]{1,300}' and",
    ],
)
def test_ordinary_captures_have_no_faults(pattern) -> None:
    assert lint(Signature(f"literal {pattern}")) == []


def test_how_often_literals_stand_in_text() -> None:
    assert per_megabyte(Signature("CUDA error"), b"CUDA error\n" * 20 + b"x" * 1_000_000) == pytest.approx(20, rel=0.01)


@given(st.data(), st.sampled_from(ROWS))
@settings(max_examples=150, deadline=5000)
def test_patterns_without_faults_do_not_blow_up(data, row) -> None:
    """A whole search window of the pattern's own pieces takes far below the deadline; a blow-up would take hours."""
    pieces = [row.sample[at : at + size] for at in range(0, len(row.sample), 7) for size in (1, 5, 20)]
    piece = "".join(data.draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=6)))
    re.search(row.pattern, (piece * 20_000)[:16_384])
