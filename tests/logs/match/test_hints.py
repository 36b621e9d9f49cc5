"""Words that are looked for before a pattern is tried: every line that the pattern matches must hold one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.logs.lines import exits, life

LOWERED = [
    (life._SUCCESS, life.SUCCESS_HINTS), *((each, life.NAME_HINTS) for each in life._VERSIONS),
]  # fmt: skip
AS_WRITTEN = [
    (life._ASKED, life.ASKED_HINTS), (life._SERVING, life.SERVING_HINTS), (life._BAR, life.PROGRESS_HINTS),
    (life._TRAINING, life.PROGRESS_HINTS), *((each, life.PROGRESS_HINTS) for _, each in life._PROGRESS),
    *((each, exits.HINTS) for each in (
        exits._ELASTIC, exits._CLOSING, exits._SHELL, exits._SRUN, exits._SLURMD, exits._PYTHON, exits._DEEPSPEED,
        exits._CONTAINER, exits._KERNEL, exits._OOM, exits._LOADER, exits._NATIVE, exits._MPI,
    )),
]  # fmt: skip


def _in_ascii(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The same pattern without the letters of other scripts that Python holds for cases of `s` and `k`."""
    return re.compile(pattern.pattern, pattern.flags & ~re.UNICODE | re.ASCII)


@pytest.mark.parametrize(("pattern", "hints"), LOWERED, ids=[each.pattern[:30] for each, _ in LOWERED])
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_no_line_is_lost_by_looking_for_lower_case_words(data, pattern, hints) -> None:
    text = data.draw(st.from_regex(_in_ascii(pattern), alphabet=st.characters(codec="ascii")))
    assert life._holds(text.lower(), hints)
    assert pattern not in life._VERSIONS or life._BEFORE_VERSION.search(text)


@pytest.mark.parametrize(("pattern", "hints"), AS_WRITTEN, ids=[each.pattern[:30] for each, _ in AS_WRITTEN])
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_no_line_is_lost_by_looking_for_words(data, pattern, hints) -> None:
    text = data.draw(st.from_regex(_in_ascii(pattern), alphabet=st.characters(codec="ascii")))
    assert life._holds(text, hints)
