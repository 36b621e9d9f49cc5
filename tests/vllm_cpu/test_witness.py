"""The witness beside a vLLM that really generates: what is well holds, and faults are named within three updates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.readers.patient.carry import carry, rule_modules
from tests.guard.conftest import Guarded
from tests.real.runs import run

from .conftest import PROGRAMS
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


@pytest.fixture
def push(
    vllm_python: Path, engine_model: Path, variables: Callable[[Path], dict[str, str]], tmp_path: Path
) -> Callable[[str], tuple[str, list[dict[str, Any]]]]:
    """A function that sends weights to an engine; gives what was printed, and what its process saw of each push."""
    into = carry(
        ["doctor.monitors.guard", "doctor.monitors.inject", "doctor.monitors.witness", *rule_modules()], tmp_path
    )

    def run_case(case: str) -> tuple[str, list[dict[str, Any]]]:
        (tmp_path / "run").mkdir()
        argv = [str(vllm_python), str(PROGRAMS / "pushes.py"), str(into), str(engine_model), case]
        ran = run(argv, tmp_path, variables(tmp_path), limit_s=480)
        assert ran.code == 0, ran.text[-3000:]
        lines = [line for each in tmp_path.glob("run/events/*") for line in each.read_text().splitlines()]
        seen = [each["data"] for each in map(json.loads, lines) if each["data"].get("witness") == "received"]
        return ran.text, seen

    return run_case


def test_an_engine_that_holds_what_it_is_sent_is_seen_to(push: Callable[..., Any]) -> None:
    text, seen = push("sound")
    assert [each["push"] for each in seen] == [1, 2, 3], text[-3000:]
    assert all(each["compared"] > 20 and not each["different"] for each in seen), seen
    assert "WIT9046" not in text


def test_a_layer_that_the_engine_drops_is_named_by_its_own_process(push: Callable[..., Any]) -> None:
    text, seen = push("layer")
    assert [bool(each["different"]) for each in seen] == [False, True, True], text[-3000:]
    assert "WIT9046: Push 2: 1 of 2 layers in the engine are still those of push 1" in text
