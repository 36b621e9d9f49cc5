"""The witness beside a vLLM that really generates: what is well holds, and faults are named within three updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.guard.conftest import Guarded

from .test_guard import train  # noqa: F401 - a fixture

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Train = Callable[..., Guarded]


def rounds(done: Guarded) -> list[dict[str, Any]]:
    return [{**each["data"], "step": each["step"]} for each in done.events("monitor") if "verdicts" in each["data"]]


def witnessed(done: Guarded) -> list[tuple[str, int]]:
    return [(problem, step) for problem, step, _ in done.alarms if problem.startswith("WIT")]


def test_an_engine_that_gets_its_weights_agrees_in_every_way(train: Train) -> None:  # noqa: F811
    done = train("synced")
    assert done.ran.code == 0, done.text[-3000:]
    assert witnessed(done) == [], done.text[-3000:]
    told = rounds(done)
    assert {each["step"] for each in told} >= {0, 1, 2, 3}, told
    states = {(name, each["state"]) for seen in told for name, each in seen["verdicts"].items() if name != "episodes"}
    assert {"agreement", "prefix-cache", "decode", "weights"} <= {name for name, _ in states}, states
    assert {state for _, state in states} == {"holds"}, states


@pytest.mark.parametrize(
    ("case", "problem"),
    [("never-pushed", "WIT9046"), ("not-written", "WIT9046"), ("layer", "WIT9046"), ("top-p", "WIT1675")],
)
def test_a_fault_is_named_within_three_updates(case: str, problem: str, train: Train) -> None:  # noqa: F811
    done = train(case)
    assert done.ran.code == 0, done.text[-3000:]
    told = witnessed(done)
    assert told, (rounds(done), done.text[-3000:])
    assert told[0][0] == problem
    assert told[0][1] <= 3
