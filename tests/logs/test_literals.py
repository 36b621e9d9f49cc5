from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
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


words = st.text("abcdXYZ '", min_size=1, max_size=6).map(re.escape)
patterns = st.recursive(
    st.one_of(
        words, st.sampled_from([r"\d", r"\w+", "[ab]", "[^x\n]{0,5}", ".", ".{0,4}", "^", "$", r"\b", "[a-z]{2}"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["?", "*", "+", "{2}", "{0,3}", "{1,2}?", "{3,}"])),
        inner.map("({})".format),
        inner.map("(?i:{})".format),
    ),
    max_leaves=10,
)


@given(st.data(), patterns)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_matches_holds_a_literal(data, pattern) -> None:
    try:
        literals = required_strings(pattern)
        compiled = re.compile(pattern)
    except (re.error, OverflowError):
        assume(False)
    assume(literals)
    text = data.draw(st.from_regex(compiled))
    match = compiled.search(text)
    assert match is not None
    assert any(each in match[0] for each in literals)
    assert min(len(each.encode()) for each in literals) >= SHORTEST


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
