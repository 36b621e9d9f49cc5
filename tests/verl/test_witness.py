"""The real driver of veRL with real Ray, under what `doctor run` lays down: faults are named, and nothing else changes.

The interpreter is named by DOCTOR_VERL_PYTHON, else it is `.venv-verl/bin/python` made by tools/make_verl.sh. Where
there is none the tests are skipped with that reason.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.inject.lay import lay
from doctor.run.folder import RunDir
from tests.real.runs import Ran, environment, run

#: seconds that Ray and six updates may take; at a load of 20 on two cores it was started in 40 s
LIMIT_S = 400

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(LIMIT_S + 60)]

WITNESS = Path(__file__).parents[1] / "witness"
PROGRAM = WITNESS / "programs" / "verl_driver.py"
BESIDE = Path(__file__).parents[2] / ".venv-verl" / "bin" / "python"

#: fault -> (problem, what its words say, the step that it is told at)
FAULTS = {
    "not-sent": ("WIT9046", "At step 3 the engine answers bit for bit as at step 1", 3),
    "not-sent-version": ("WIT9046", "At step 2 100% of the samples are of the weights of step 1", 2),
    "stale-layer": ("WIT9046", "Engine and trainer differ by", 3),
    "old-after-resume": ("WIT9046", "Engine and trainer differ by", 20),
    "off-by-one": ("WIT2184", "At step 0 the engine's log probabilities belong to the tokens at offset -1", 0),
}


@pytest.fixture(scope="session")
def verl_python() -> Path:
    """The interpreter with veRL."""
    named = os.environ.get("DOCTOR_VERL_PYTHON")
    python = Path(named) if named else BESIDE
    if python.is_file():
        return python
    reason = f"no veRL at {python} (tools/make_verl.sh makes .venv-verl)"
    if named:
        pytest.fail(reason)
    pytest.skip(reason)


class Driven:
    """A run of the program: how it ended, what it left, and the events of its processes."""

    def __init__(self, ran: Ran, run_dir: RunDir | None) -> None:
        self.ran, self._run = ran, run_dir

    @property
    def out(self) -> list[dict[str, Any]]:
        """Losses and weights of each seed."""
        assert self.ran.code == 0, self.ran.text[-4000:]
        told: list[dict[str, Any]] = json.loads((self.ran.folder / "out.json").read_text())
        return told

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Events of one kind, in order of time."""
        assert self._run is not None
        return [each for each in self._run.read_events() if each["kind"] == kind]


def drive(
    python: Path, folder: Path, fault: str, seeds: str, *overrides: str, watched: bool = True, **variables: str
) -> Driven:
    folder.mkdir()
    run_dir = RunDir.create("verl", folder) if watched else None
    laid = lay(run_dir, {"lang": "en"}) if run_dir is not None else {}
    hook = laid.pop("PYTHONPATH", "").split(os.pathsep)[0]  # and nothing else of these tests' own path
    path = os.pathsep.join(each for each in (hook, str(WITNESS)) if each)
    env = environment(python, folder) | laid | {"PYTHONPATH": path, "RAY_TMPDIR": "/tmp", **variables}
    ran = run(
        [str(python), "-W", "ignore", str(PROGRAM), "out.json", fault, seeds, *overrides], folder, env, limit_s=LIMIT_S
    )
    return Driven(ran, run_dir)


@pytest.mark.timeout(2 * LIMIT_S)
def test_right_runs_are_quiet_and_compute_the_same(verl_python: Path, tmp_path: Path) -> None:
    watched = drive(verl_python, tmp_path / "with", "none", "0,1,2,3,4")
    assert len(watched.out) == 5
    assert watched.out == drive(verl_python, tmp_path / "without", "none", "0,1,2,3,4", watched=False).out
    assert not watched.events("alarm")
    told = [each["data"] | {"step": each["step"]} for each in watched.events("monitor") if "witness" in each["data"]]
    rounds = [each for each in told if each["witness"] == "round"]
    asked = [each for each in told if each["witness"] == "questions"]
    assert [each["step"] for each in asked] == [0, 1, 2, 3, 4] * 5
    assert {name for each in asked for name in each["verdicts"]} == {"renewed", "prefix-cache", "decode"}
    assert all(verdict["state"] in ("holds", "unseen") for each in asked for verdict in each["verdicts"].values())
    ends = [each for each in told if each["witness"] == "end"]
    assert [each["step"] for each in rounds] == [0, 1, 2, 3] * 5
    assert all(verdict["state"] == "holds" for each in rounds for verdict in each["verdicts"].values())
    assert [(each["rounds"], each["off"]) for each in ends] == [(4, None)] * 5
    assert all(each["spent_s"] < 0.005 * each["run_s"] for each in ends)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(verl_python: Path, tmp_path: Path, fault: str) -> None:
    problem, words, step = FAULTS[fault]
    driven = drive(verl_python, tmp_path / "run", fault, "1")
    assert len(driven.out[0]["losses"]) == 6  # it warns, and the run goes on
    alarm, *later = driven.events("alarm")
    assert {each["id"] for each in later} <= {"WIT9046"}  # engine and batches tell of the same fault
    assert (alarm["id"], alarm["step"]) == (problem, step)
    assert alarm["data"]["words"]["en"]["headline"].startswith(words)


def test_the_policy_saves_and_stops(verl_python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    driven = drive(
        verl_python, folder, "off-by-one", "1", f"trainer.default_local_dir={folder / 'saved'}",
        DOCTOR_GUARD_POLICY="WIT=checkpoint",
    )  # fmt: skip
    assert driven.ran.code == 1
    assert "GuardStop: the doctor's guard ends the run at step 1 (policy checkpoint)" in driven.ran.text
    assert [(each["id"], each["data"]["save"]) for each in driven.events("stop")] == [("WIT2184", "saved")]
    assert len(list((folder / "saved" / "global_step_1" / "actor").glob("*.pt"))) == 2


def test_batches_without_the_engines_values_are_said_and_the_engine_is_asked(verl_python: Path, tmp_path: Path) -> None:
    driven = drive(
        verl_python, tmp_path / "run", "not-sent", "1", "actor_rollout_ref.rollout.calculate_log_probs=False"
    )  # fmt: skip
    assert len(driven.out[0]["losses"]) == 6
    (alarm,) = driven.events("alarm")
    assert alarm["data"]["words"]["en"]["headline"] == (
        "At step 3 the engine answers bit for bit as at step 1, 2 updates ago"
    )
    told = [each["data"] for each in driven.events("monitor") if each["data"].get("witness") == "off"]
    assert len(told) == 1
    assert "calculate_log_probs=True" in told[0]["reason"]
