"""An error that a run logs all the while: how often, where in the log, and which of several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.logs.failures.repeats import repeated
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

STEPS = 100


def _judge(n: int) -> str:
    return f"ERROR 11-30 12:00:{n % 60:02} [reward.py:12] The judge refused the request: code {n}\n"


def _store(n: int) -> str:
    return f"ERROR 11-30 12:00:{n % 60:02} [store.py:7] Upload of rollouts failed: try {n}\n"


def _count(folder: Path, said: Callable[[int], str]) -> tuple[str, int] | None:
    lines = (f"{{'loss': '0.1', 'reward': '{0.1 + n / 200}', 'epoch': '{n / STEPS}'}}\n{said(n)}" for n in range(STEPS))
    (folder / "train.log").write_text("".join(lines))
    found = repeated(examine([str(folder / "train.log")], prepared=prepared_once()).case)
    return found and (found.first.text.partition(":")[0], found.count)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (lambda n: _judge(n) if n % 4 == 0 else "", ("The judge refused the request", 25)),
        (lambda n: _judge(n) if n % 10 == 0 else "", None),  # too few
        (lambda n: _judge(n) if n < 30 else "", None),  # as many, and the run got over it
        (lambda n: (_judge(n) if n % 4 == 0 else "") + _store(n) * (n % 2), ("Upload of rollouts failed", 50)),
        (lambda n: _store(n) * (n % 2) + (_judge(n) if n % 4 else ""), ("The judge refused the request", 75)),
    ],
)
def test_what_comes_again_and_again_from_beginning_to_end_is_counted(
    said: Callable[[int], str], told: tuple[str, int] | None, tmp_path: Path
) -> None:
    assert _count(tmp_path, said) == told
