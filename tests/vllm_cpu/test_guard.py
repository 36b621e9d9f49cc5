"""GRPO with a real vLLM engine: the guard knows whether the engine gets the weights, and whether its server lives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.run.folder import RunDir
from tests.guard.conftest import Guarded
from tests.real.runs import run

from .conftest import PROGRAMS, Serve, vllm_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

DRIFT = "sampling/sampling_logp_difference/mean"

Train = Callable[..., Guarded]


@pytest.fixture
def train(
    vllm_python: Path, engine_model: Path, carried: Path, variables: Callable[[Path], dict[str, str]], tmp_path: Path
) -> Train:
    """A function that runs a case of `programs/grpo.py` to its end."""

    def run_case(case: str, *more: str) -> Guarded:
        folder = tmp_path / case
        (folder / "run").mkdir(parents=True)
        argv = [str(vllm_python), str(PROGRAMS / "grpo.py"), str(carried), str(engine_model), case, *more]
        return Guarded(run(argv, folder, variables(folder), limit_s=480), RunDir(folder / "run"))

    return run_case


def drift(done: Guarded) -> list[float]:
    """How far engine and trainer disagree, step by step."""
    log: list[dict[str, Any]] = json.loads((done.ran.folder / "result.json").read_text())
    return [each[DRIFT] for each in log if DRIFT in each]


def test_weights_that_arrive_are_no_alarm(train: Train) -> None:
    done = train("synced")
    assert done.ran.code == 0, done.text[-3000:]
    assert max(drift(done)) < 5e-3  # the engine works in bf16
    assert [each for each in done.alarms if each[0].startswith(("RLX014", "RLX021"))] == []
    assert "doctor: guard:" not in done.text


@pytest.mark.parametrize("case", ["never-pushed", "not-written"])
def test_an_engine_without_the_trained_weights_is_named_in_the_first_stale_step(train: Train, case: str) -> None:
    done = train(case)
    assert done.ran.code == 0, done.text[-3000:]
    assert drift(done)[-1] > 10 * drift(done)[0]
    assert ("RLX021", 2, "warn") in done.alarms, done.text[-3000:]


def test_a_server_without_the_trained_weights_that_dies_while_the_trainer_waits(train: Train, serve: Serve) -> None:
    server = serve("--openai", VLLM_SERVER_DEV_MODE="1")
    done = train("server", f"http://127.0.0.1:{server.port}", str(vllm_of(server).pid))
    assert done.ran.code == 7, done.text[-3000:]
    alarms = {problem: step for problem, step, _ in done.alarms}
    # RLX015 tells the level of the same gap, once five steps are logged
    assert alarms.keys() - {"RLX015"} == {"RLX014", "VLL071", "WIT9046"}, done.text[-3000:]
    assert alarms["RLX014"] <= 4
    assert alarms["WIT9046"] <= 3
    assert f"The vLLM server at http://127.0.0.1:{server.port} is gone" in done.text
    assert server.wait() == 137
