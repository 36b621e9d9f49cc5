"""A process that waits for another one which has ended: told as the collective that only one of them called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.rehearse.left import waits_for_who_left
from doctor.rehearse.record import Rehearsed
from doctor.run.folder import Events, RunDir

GLOO = "[pair.cc:553] Connection closed by peer [127.0.0.1]:25216"
TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/home/me/train.py", line 178, in saves\n    with GatheredParameters(parameters):\n'
    '  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 4206, in all_gather\n'
    "    work.wait()\n"
    f"RuntimeError: {GLOO}\n"
)


def left(rank: int, *, failed: bool) -> dict[str, Any]:
    return {"t_ns": 1, "pid": rank, "rank": rank, "kind": "left", "failed": failed}


def pass_of(tmp_path: Path, *told: tuple[int, str, str]) -> RunDir:
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    for rank, text, trace in told:
        events = Events(run, rank, "trainer")
        events.write("exception", type="RuntimeError", text=text, traceback=trace)
        events.close()
    return run


def test_the_statement_that_waits_is_named(tmp_path: Path) -> None:
    part = Rehearsed((left(1, failed=False), left(0, failed=True)))
    found = waits_for_who_left(part, pass_of(tmp_path, (0, GLOO, TRACE)))
    assert found is not None
    assert found.problem.id == "NCC9344"
    assert (found.where.file, found.where.line, found.where.rank) == ("/home/me/train.py", 178, 0)
    assert found.words().headline == (
        "Process 0 waits at train.py:178 for process 1, which has already ended without an error"
    )


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ((left(1, failed=True),), [(0, GLOO, TRACE)]),  # it failed, and said so elsewhere
        ((), [(0, GLOO, TRACE)]),  # it was killed
        ((left(1, failed=False),), [(0, "out of memory", TRACE)]),
        ((left(1, failed=False),), [(0, GLOO, TRACE), (2, "KeyError: 'x'", TRACE)]),
        ((left(1, failed=False),), []),
        ((left(1, failed=False),), [(0, GLOO, "no frames")]),
    ],
)
def test_whatever_else_ended_a_process_is_left_to_others(
    entries: tuple[dict[str, Any], ...], told: list[tuple[int, str, str]], tmp_path: Path
) -> None:
    assert waits_for_who_left(Rehearsed(entries), pass_of(tmp_path, *told)) is None
