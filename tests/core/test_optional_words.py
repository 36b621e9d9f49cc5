"""`[?name|text?]` in a message: said only where something was observed, in both languages alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalogue.finding import Message, Words, found
from doctor.catalogue.index import load
from doctor.catalogue.problem import ERROR, Problem
from doctor.catalogue.problem_files import declared
from doctor.cli.dev_lint import _faults_of_text, faults_of

PROBLEM = Problem(id="VLL901", name="made-up", severity=ERROR, since="0.1")
TEXT = "more wanted[?total| on a card of {total}?][?free|, {free} free?][!free|, none free?] ({who})"


def _said(text: str, **values: object) -> str:
    return found(PROBLEM, Message(Words(text, "A.", "B.")), **values).words().headline


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"total": "80 GiB", "free": "1 GiB"}, "more wanted on a card of 80 GiB, 1 GiB free (x)"),
        ({"total": "80 GiB", "free": None}, "more wanted on a card of 80 GiB, none free (x)"),
        ({"total": "", "free": 2}, "more wanted, 2 free (x)"),
        ({}, "more wanted, none free (x)"),
    ],
)
def test_a_part_stands_where_its_value_is(values: dict[str, object], said: str) -> None:
    assert _said(TEXT, who="x", **values) == said


@given(st.text(alphabet="ab {}[]?|!\\", max_size=20), st.booleans())
def test_what_was_observed_is_never_taken_for_a_part(value: str, there: bool) -> None:
    said = _said("<{value}>[?there|<{value}>?]", value=value, there=there)
    assert said == f"<{value}>" * (2 if there else 1)


def test_languages_that_depend_on_other_values_are_a_fault() -> None:
    entries = load()
    ids = {each.id for each in entries}
    with_parts = [
        each
        for each in entries
        if any("[?" in text for message in declared(each).messages.values() for text in vars(message.en).values())
    ]
    assert len(with_parts) >= 40
    assert not [fault for each in with_parts for fault in faults_of(each, ids) if "[?" in fault]


@pytest.mark.parametrize(
    ("text", "faulty"),
    [
        (TEXT, False),
        ("once (not at all)?]: a mean|too often", True),
        ("a card[?total| of {total}", True),
        ("`a[0]`?", False),
    ],
)
def test_a_part_without_its_beginning_or_its_end_is_a_fault(text: str, faulty: bool) -> None:
    found_ = [each for each in _faults_of_text("headline", text) if "without its beginning or its end" in each]
    assert bool(found_) is faulty
