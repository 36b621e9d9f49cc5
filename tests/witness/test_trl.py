"""The real TRL with an engine that computes, served or in its process: found by itself, and training is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.run.folder import RunDir
from tests.guard.conftest import Guarded, carried, model, python, shared  # noqa: F401 - fixtures
from tests.real.runs import environment
from tests.real.runs import run as start

pytestmark = pytest.mark.process
PROGRAM = Path(__file__).parent / "programs" / "trl_engine.py"

Run = Callable[..., Guarded]


@pytest.fixture
def trained(
    python: Path,  # noqa: F811
    model: Path,  # noqa: F811
    carried: Path,  # noqa: F811
    tmp_path: Path,
) -> Run:
    """Runs a case to its end, with a run folder, in a process that asks for vLLM first when it is there."""

    def run_case(case: str, mode: str, *, guard: bool = True) -> Guarded:
        folder = tmp_path / f"{case}-{mode}-{guard}"
        run = RunDir(folder / "run")
        run.path.mkdir(parents=True)
        argv = [str(python), str(PROGRAM), str(carried) if guard else "none", str(model), case, mode, "whole"]
        ran = start(argv, folder, environment(python, folder))
        assert ran.code == 0, ran.text[-3000:]
        return Guarded(ran, run)

    return run_case


def rounds(run: Guarded) -> list[dict[str, Any]]:
    return [each["data"] for each in run.events("monitor") if each["data"].get("witness") == "round"]


@pytest.mark.parametrize("mode", ["server", pytest.param("colocate", marks=pytest.mark.slow)])
def test_a_training_that_is_well_is_seen_to_be_and_computes_the_same(mode: str, trained: Run) -> None:
    run = trained("well", mode)
    assert [each for each in run.alarms if each[0].startswith("WIT")] == []
    seen = {name for each in rounds(run) for name in each["verdicts"]}
    assert {"agreement", "identity", "prefix-cache", "decode", "sequences", "batch"} <= seen
    assert ("weights" in seen) == (mode == "colocate")
    states = {(name, told["state"]) for each in rounds(run) for name, told in each["verdicts"].items()}
    assert {state for name, state in states if name != "episodes"} == {"holds"}
    assert ("episodes", "unseen") in states, "no environment was used"
    assert run.result == trained("well", mode, guard=False).result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "mode", "problem"),
    [
        ("layer", "server", "WIT9046"), ("layer", "colocate", "WIT9046"), ("never-pushed", "server", "WIT9046"),
        ("never-pushed", "colocate", "WIT9046"), ("top-p", "server", "WIT1675"),
    ],
)  # fmt: skip
def test_a_fault_is_named_within_three_updates(case: str, mode: str, problem: str, trained: Run) -> None:
    run = trained(case, mode)
    told = [(id_, step) for id_, step, _ in run.alarms if id_.startswith("WIT")]
    assert told[0][0] == problem
    assert told[0][1] <= 3
    assert f"doctor explain {problem}" in run.text
