"""Silent bugs of the past, put back in, are named."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from .history import BUGS, Bug, named


def test_there_are_twenty_with_their_sources() -> None:
    assert len({bug.url for bug in BUGS}) == len(BUGS) == 20


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.url.removeprefix("https://github.com/").replace("/", "-"))
def test_a_silent_bug_of_the_past_is_named(bug: Bug) -> None:
    right, said = named(bug)
    assert right, said
