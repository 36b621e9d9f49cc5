"""Tracebacks pasted without their frames: words that name their owner count, all others do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.failures.elided import marks_gap, unmistakable
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
ENGINE = "AttributeError: 'State' object has no attribute 'engine_client'"


@pytest.mark.parametrize(
    "text",
    [
        "...",
        "  ...",
        "…",
        "[...]",
        "(...)",
        "    [snip]",
        "<omitted 12 frames>",
        "......",
        "省略中间部分",
        "[中间省略]",
        "... 12 frames ...",
        "-- snip --",
    ],
)
def test_gaps(text: str) -> None:
    assert marks_gap(text)


@pytest.mark.parametrize(
    "text",
    [
        "  [Previous line repeated 9 more times]",
        '  File "a.py", line 1, in f',
        "    x = f(...)",
        "ValueError: ...",
        "",
        "Loading ...",
    ],
)
def test_no_gaps(text: str) -> None:
    assert not marks_gap(text)


@pytest.mark.parametrize(
    ("pattern", "sure"),
    [
        (r"^AttributeError: 'State' object has no attribute 'engine_client'", True),
        (r"^KeyError: 'prompt'$", False),
        (r"^AttributeError: '(?P<a>NoneType)' object has no attribute 'lower'", False),
        (r"^(?:RuntimeError: zero_to_fp32 failed|KeyError: 'step')", False),
        (r"TypeError: (?P<f>\w+)\(\) got an unexpected keyword argument", False),
        (r"^StopIteration", False),
    ],
)
def test_words_that_name_their_owner(pattern: str, sure: bool) -> None:
    assert unmistakable(pattern) is sure


@pytest.mark.parametrize("gap", ["...", "  ...", "…", "[...]", "<snip>", "省略"])
@pytest.mark.parametrize("testimony", ["", "INFO [api_server.py:121] vLLM API server version 0.8.5\n"])
def test_the_cause_is_found_whatever_stands_for_the_frames(tmp_path: Path, gap: str, testimony: str) -> None:
    path = tmp_path / "serve.log"
    path.write_text(f"{testimony}Traceback (most recent call last):\n{gap}\n{ENGINE}\n")
    first = examine([str(path)], prepared=PREPARED).ranked.findings[0]
    assert first.problem.id == "VLL001"
    assert first.confidence.value == ("confirmed" if testimony else "likely")


def test_all_frames_of_somebody_else_are_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    path.write_text(f'Traceback (most recent call last):\n  File "/app/routes.py", line 2, in f\n    x()\n{ENGINE}\n')
    assert "VLL001" not in [each.problem.id for each in examine([str(path)], prepared=PREPARED).ranked.findings]


@pytest.mark.parametrize("words", ["KeyError: 'prompt'", "StopIteration", "AssertionError", "KeyError: 'step'"])
def test_words_of_everybody_find_nothing_without_frames(tmp_path: Path, words: str) -> None:
    path = tmp_path / "short.log"
    path.write_text(f"Traceback (most recent call last):\n  ...\n{words}\n")
    findings = examine([str(path)], prepared=PREPARED).ranked.findings
    assert all(each.problem.id.startswith("UNK") for each in findings), [each.problem.id for each in findings]
