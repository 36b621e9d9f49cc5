"""No line can make a pattern of the catalogue slow: each is tried on lines made of its own pieces."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from doctor.catalogue.signature import Signature
from doctor.logs.match.lint import lint
from doctor.logs.match.literals import literals_of
from doctor.logs.match.matcher import WINDOW, Compiled, Matcher, scan_text
from doctor.logs.match.signatures import load_signatures

SIGNATURES = load_signatures()
AREAS = sorted({each.problem_id[:3] for each in SIGNATURES})
TIMES_THE_MEASURE = 40  # an ordinary pattern takes a hundredth of the measure, one that blows up hundreds of it
#: parts of a pattern that stand for other text than themselves
_SPECIAL = re.compile(r"\\[a-zA-Z]|\(\?P<\w+>|\{[\d,]+\}|\(\?[:=!]|\[(?:\\.|[^\]\\])+\]")


def _spent(pattern: re.Pattern[str], text: str) -> float:
    started = time.process_time()
    pattern.search(text)
    return time.process_time() - started


def _measure() -> float:
    """What one bounded gap costs that is tried at every position of a window: the unit for this machine, now."""
    pattern, text = re.compile("x[^y]{0,200}y"), "x" * WINDOW
    return min(_spent(pattern, text) for _ in range(3))


def _pieces(signature: Signature) -> Iterator[str]:
    """What lines that want to be slow repeat: literals, beginnings of the pattern, classes of characters."""
    for each in literals_of(signature)[:3]:
        literal = each.decode()
        yield from (literal, f"{literal} ", f"{literal}1", f"{literal}a.b/c-")
    runs = re.findall(r"[A-Za-z0-9_ :=,'/.-]{3,}", _SPECIAL.sub("\0", signature.pattern).replace("\\", ""))
    for count in range(1, min(len(runs), 5) + 1):
        yield from (" ".join(runs[:count]) + " ", "1".join(runs[:count]))
    yield from ("a", "1", " ", "a,", "'a': ", "((((", "1.1.", "/a")


@pytest.mark.parametrize("area", AREAS)
def test_no_pattern_of_the_catalogue_blows_up(area) -> None:
    slow = []
    for each in SIGNATURES:
        if not each.problem_id.startswith(area):
            continue
        pattern = re.compile(each.signature.pattern)
        for piece in _pieces(each.signature):
            text = (piece * (WINDOW // len(piece) + 1))[:WINDOW]
            if _spent(pattern, text) > TIMES_THE_MEASURE * _measure_once() and (
                min(_spent(pattern, text) for _ in range(2)) > TIMES_THE_MEASURE * _measure()
            ):
                slow.append((each.problem_id, each.index, piece))
    assert slow == []


_measured: list[float] = []


def _measure_once() -> float:
    if not _measured:
        _measured.append(_measure())
    return _measured[0]


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<path>\S{0,300}torch_extensions/[^\s:'\n]{0,200}/(?P<name>[\w\-]{1,80})\.so): cannot",
        r"\S{1,300}/\S{1,300}/\S{1,300} is missing",
        r"one.{0,300}two.{0,300}three.{0,300}four",
    ],
)
def test_patterns_that_do_are_told_by_the_lint(pattern) -> None:
    assert any("ways" in each for each in lint(Signature(pattern)))


def test_a_pattern_that_blows_up_is_seen_by_this_measure() -> None:
    pattern = re.compile(r"\S{0,300}torch_extensions/[^\s:'\n]{0,200}/[\w\-]{1,80}\.so: cannot")
    assert _spent(pattern, ("torch_extensions/" * 1000)[:WINDOW]) > TIMES_THE_MEASURE * _measure()


@pytest.mark.parametrize("engine", ["ahocorasick", "shapes"])
def test_a_line_ten_times_as_long_takes_ten_times_as_long(engine) -> None:
    """Of the whole scan: blocks, windows, prefixes."""
    signature = Compiled("A", 0, Signature(r"found (?P<a>.{0,80}) in (?P<b>.{0,80}) there", keywords=("found ",)))
    matcher = Matcher((signature,), engine=engine)

    def spent(size: int) -> float:
        data = (b"found a in b " * (size // 13)) + b"\n"
        started = time.process_time()
        hits = scan_text(matcher, (data[at : at + 65536] for at in range(0, len(data), 65536)))
        assert not list(hits)
        return time.process_time() - started

    spent(100_000)
    assert min(spent(1_000_000) for _ in range(2)) < 40 * max(min(spent(100_000) for _ in range(3)), 1e-3)
