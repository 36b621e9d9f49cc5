"""A misspelling's nearest name is one that a slip of the hand explains, or there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor import data
from doctor.base.spelling import distance, nearest

KNOWN = sorted(data.config_arguments("GRPOConfig", "1.16.0", "5.17.0") or ())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("num_generation", "num_generations"),
        ("numgenerations", "num_generations"),
        ("gradient_acumulation_steps", "gradient_accumulation_steps"),
        ("learning_rte", "learning_rate"),
        ("attn_implementation", None),
        ("zzz_frobnicate", None),
    ],
)
def test_slips_have_a_name_and_other_words_have_none(written: str, meant: str | None) -> None:
    assert nearest(written, KNOWN) == meant


@given(st.sampled_from([each for each in KNOWN if len(each) > 9]), st.data())
def test_a_slip_never_leads_to_a_farther_name(name: str, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(name) - 2))
    slips = (
        name[:at] + name[at + 1 :],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
        name[:at] + "x" + name[at:],
    )
    written = draw.draw(st.sampled_from(slips))
    if written not in KNOWN:
        found = nearest(written, KNOWN)
        assert found is None or distance(written, found) <= distance(written, name)


@given(st.text("abc_", max_size=8), st.text("abc_", max_size=8))
def test_a_distance_is_symmetric_and_zero_for_equals_only(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one)
    assert (distance(one, other) == 0) == (one == other)
    assert distance(one, other) <= max(len(one), len(other))
