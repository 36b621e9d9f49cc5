"""Whole numbers in text that anybody may have written."""

from __future__ import annotations

import pytest

from doctor.base.numerals import whole_of


@pytest.mark.parametrize("number", [0, 7, 1_772_000_000_000_000_000, 2**63 - 1])
def test_a_count_and_a_time_in_nanoseconds(number: int) -> None:
    assert whole_of(str(number)) == number


@pytest.mark.parametrize("text", ["", "-1", "1.0", "1_0", " 1", "x", str(2**63), "9" * 5000])
def test_what_is_none(text: str) -> None:
    assert whole_of(text) is None
