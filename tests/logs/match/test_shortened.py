"""A message that somebody cut off with dots: what it may be in full is named, and no finding is made of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.logs.match.pattern_tree import openings
from doctor.logs.match.shortened import begins_like
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
SIGNATURES = PREPARED.scanner.signatures


@pytest.mark.parametrize(
    ("kind", "message", "problem"),
    [
        (
            "ValueError",
            "The global train batch size (7 x 1) must be evenly divisible by the number of ...",
            "TRL3814/groups",
        ),
        ("RuntimeError", "Expected all tensors to be on the same …", "TOR3430/tensors"),
        ("TypeError", "string indices [...]", "DAT028"),
    ],
)
def test_what_it_may_be_is_named(kind: str, message: str, problem: str) -> None:
    assert problem in begins_like(kind, message, SIGNATURES)


@pytest.mark.parametrize(
    "message",
    [
        "Expected all tensors to be on the same",  # nobody cut it off
        "Loading checkpoint...",
        "...",
        "",
        "the shards of the evaluation are not there ...",
        "Expected all tensors " + "to be " * 100 + "...",
    ],
)
def test_other_messages_name_nothing(message: str) -> None:
    assert begins_like("RuntimeError", message, SIGNATURES) == ()


def test_the_answer_stays_unknown_and_asks_for_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 3, in <module>\n    trainer.train()\n'
        "ValueError: The global train batch size (7 x 1) must be evenly divisible by the number of ...\n"
    )
    first = examine([str(path)], prepared=PREPARED).ranked.findings[0]
    assert first.problem.id == "UNK001"
    assert "`doctor explain TRL3814/groups`" in first.words().remedy
    assert "`doctor explain TRL3814/groups`" in first.words("zh").remedy


def test_openings_match_what_their_pattern_begins_with() -> None:
    found = [
        letters for opening, letters in openings(r"^batch of (?P<n>\d+) rows|no rows$") if opening.search("batch of 12")
    ]
    assert max(found) == len("batch of ")
    assert any(opening.search("there are no r") for opening, _ in openings("no rows"))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120), st.sampled_from(["", " ...", "…"]))
def test_no_text_breaks_it(text: str, end: str) -> None:
    started = time.process_time()
    begins_like("RuntimeError", text + end, SIGNATURES)
    assert time.process_time() - started < 3
