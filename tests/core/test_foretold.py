"""Errors that a problem's words quote are known in a log without a signature of their own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor.catalogue.foretold import foretold
from doctor.catalogue.index import load_with_faults
from doctor.catalogue.pages.coverage import OPEN, coverage, markdown
from doctor.catalogue.words import words_of
from tests.case_files import read_cases

CASES = Path(__file__).parent.parent / "checks"
QUOTES = {
    "`ValueError: Rollout mode 'sync' has been removed`": "ValueError: Rollout mode 'sync' has been removed, use async",
    "`ValueError: Invalid setting: Key 'x' not in 'Config'`": "ValueError: Invalid setting: Key 'st' not in 'Config'",
    "`RuntimeError: variable {first} is expected\nbut not set`": "RuntimeError: variable RANK is expected but not set",
}


@pytest.mark.parametrize(("quote", "line"), QUOTES.items())
def test_an_error_that_is_quoted_becomes_a_pattern(quote, line):
    (pattern,) = foretold([f"The start ends with {quote}."])
    assert re.search(pattern, line)
    assert not re.search(pattern, "ValueError: something else")


@pytest.mark.parametrize(
    "text", ["Run `pip install x`.", "raises `ValueError`", "`ValueError: {message}`", "`KeyError: 'x'`"]
)
def test_what_could_be_anybodys_is_no_pattern(text):
    assert foretold([text]) == ()


def test_checks_that_foretell_their_error_are_seen_after_the_end():
    rows = {row.id: row for row in coverage(load_with_faults()[0])}
    assert rows["VRL013"].how == {"before": "check", "after": "check"}
    assert rows["TRL2205"].how == {}
    assert OPEN not in rows["TRL2205"].why_not.values()


def test_every_problem_has_a_detector_or_a_reason_at_each_time():
    rows = coverage(load_with_faults()[0])
    assert not [(row.id, time) for row in rows for time, why in row.why_not.items() if why == OPEN]


def test_the_page_of_the_documentation_has_these_numbers():
    """`doctor dev coverage --format markdown` makes them; the words in front of the tables are the page's own."""
    page = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text("utf-8")
    made = markdown(tuple(coverage(load_with_faults()[0])))
    assert page[page.index("| area |") :] == made[made.index("| area |") :]


def test_a_problem_may_be_foreseen_by_the_checks_of_others():
    rows = {row.id: row for row in coverage(load_with_faults()[0])}
    assert rows["ACC015"].how["before"] == "check of LCH003"
    assert rows["TRL060/packing_without_length"].how["before"] == "check"


def test_what_foresees_a_problem_speaks_before_launch_in_a_case():
    silent = [
        (entry.id, detector)
        for entry in load_with_faults()[0]
        if entry.words is not None
        for detector in words_of(entry.module).foreseen
        if not _speaks(detector)
    ]
    assert silent == []


def test_a_detector_without_a_case_in_which_it_speaks_is_seen():
    assert not _speaks("CUD000")


def _speaks(detector):
    """Whether a case hands its check facts (no log) and it finds something; `tests/checks/test_cases.py` runs them."""
    file = CASES / f"{detector}.yaml"
    return file.is_file() and any(case.get("found") for case in read_cases(file).values())
