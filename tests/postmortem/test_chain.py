"""The chain of consequences begins with the process that began it, also where the launcher reports it last."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("case", "first"),
    [
        ("ddp-rank1-sigkill", ("signal", 1)),
        ("ddp-rank1-sigsegv", ("signal", 1)),
        ("ddp-rank1-exit3", ("ended", 1)),
        ("ddp-rank1-raises", ("raised", 1)),
    ],
)
def test_the_chain_begins_where_it_began(case: str, first: tuple[str, int]) -> None:
    chain = examine([str(HERE / case / "log.txt")]).diagnosis.chain
    assert (chain[0]["what"], chain[0]["rank"]) == first
    assert {each["what"] for each in chain[1:]} >= {"lost"}
