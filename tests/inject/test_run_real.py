"""`doctor run` over scripts that know nothing of it, with the real libraries and launchers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from doctor.run.folder import RunDir
from doctor.run.guard_stop import CODE as STOPPED
from tests.inject.test_run_command import events, run_of
from tests.ports import free_port
from tests.real.runs import PROGRAMS as REAL
from tests.real.runs import Ran, end_group, environment, lacking, run

pytestmark = pytest.mark.process

HERE = Path(__file__).parent / "programs"
QUIET = ("--no-check", "--no-monitor")


def doctor_run(python: Path, folder: Path, *words: str, **variables: str) -> Ran:
    """Run `doctor run` over a command of the real stack."""
    command = [sys.executable, "-m", "doctor", "run", *QUIET, "--", *words]
    return run(command, folder, {**environment(python, folder), **variables}, limit_s=280)


def torchrun(python: Path, *words: str) -> list[str]:
    """A command for two processes."""
    return [str(python.parent / "torchrun"), "--nproc-per-node", "2", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"127.0.0.1:{free_port()}", *words]  # fmt: skip


def attached(found: RunDir) -> set[object]:
    """Processes that have the guard."""
    return {each["pid"] for each in events(found, "monitor") if each["data"].get("guard") == "attached"}  # type: ignore[attr-defined]


def test_an_unmodified_script_is_stopped_at_its_nan_beside_a_sitecustomize(
    python: Path, model: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('start-up file of the user')\n")
    script = [str(python), str(REAL / "grpo.py"), str(model), "nan-greedy"]
    ran = doctor_run(python, tmp_path, *script, PYTHONPATH=str(own))
    assert ran.code == STOPPED, ran.text
    assert "start-up file of the user" in ran.text
    found = run_of(tmp_path)
    (alarm,) = [each for each in events(found, "alarm") if each["id"] == "NUM006"]
    assert alarm["data"]["policy"] != "warn"  # type: ignore[index]
    (end,) = events(found, "end")
    assert end["step"] == alarm["step"], "no step was made after the one with the NaN"
    assert "Cause found: NUM006" in ran.text
    assert not list((found.path / "patient").glob("failed-*"))


def test_under_torchrun_the_rank_that_raised_first_is_named_with_its_step(
    python: Path, model: Path, tmp_path: Path
) -> None:
    ran = doctor_run(python, tmp_path, *torchrun(python, str(REAL / "ranks.py"), str(model), "raises"))
    assert ran.code == 1, ran.text
    found = run_of(tmp_path)
    assert len(attached(found)) == 2
    first = events(found, "exception")[0]
    assert (first["rank"], first["step"]) == (1, 2)
    assert "the reward server answered 502" in first["data"]["text"]  # type: ignore[index]
    said = ran.text.partition("ended with exit code 1")[2].replace("`", "")
    assert "Rank 1: RuntimeError raised in ranks.py" in said
    assert "step 2" in said


def test_uv_run_carries_it_too(python: Path, tmp_path: Path) -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        pytest.skip("uv is not installed")
    script = str(HERE / "stand_in.py")
    ran = doctor_run(
        python, tmp_path, uv, "run", "--no-project", "--offline", "--python", str(python), script, "nan",
        PYTHONPATH=str(HERE / "libraries"), UV_CACHE_DIR=str(tmp_path / "cache"),
    )  # fmt: skip
    assert ran.code == STOPPED, ran.text
    assert [each["id"] for each in events(run_of(tmp_path), "alarm")] == ["NUM006"]


@pytest.mark.slow
def test_a_bare_engine_of_deepspeed_is_watched_under_its_own_launcher(python: Path, tmp_path: Path) -> None:
    launcher = [str(python.parent / "deepspeed"), "--num_gpus", "2", "--master_port", str(free_port())]
    ran = doctor_run(python, tmp_path, *launcher, str(HERE / "engine.py"))
    found = run_of(tmp_path)
    assert len(attached(found)) == 2, ran.text
    alarms = [each for each in events(found, "alarm") if each["id"] == "NUM006"]
    assert {each["step"] for each in alarms} == {3}, ran.text
    assert "Cause found: NUM006" in ran.text


@pytest.mark.slow
def test_accelerate_launch_of_a_healthy_run_stays_silent(python: Path, model: Path, tmp_path: Path) -> None:
    launcher = [
        str(python.parent / "accelerate"), "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
        "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", str(free_port()),
    ]  # fmt: skip
    ran = doctor_run(python, tmp_path, *launcher, str(REAL / "ranks.py"), str(model), "healthy")
    assert ran.code == 0, ran.text
    found = run_of(tmp_path)
    assert len(attached(found)) == 2
    assert events(found, "alarm") == events(found, "exception") == []
    assert "Cause" not in ran.text


@pytest.mark.slow
def test_an_old_trl_that_dies_in_generation_is_explained_by_the_module(
    python: Path, model: Path, tmp_path: Path
) -> None:
    old = python.parent.parent / "trl-0.17"
    if not old.is_dir():
        lacking(f"no TRL 0.17 in {old} (tools/make_real_stack.sh installs it)")
    script = [str(python), str(REAL / "grpo.py"), str(model), "huge-learning-rate"]
    ran = doctor_run(python, tmp_path, *script, PYTHONPATH=str(old))
    assert ran.code == 1
    (alarm,) = [each for each in events(run_of(tmp_path), "alarm") if each["id"] == "NUM006"]
    assert (alarm["step"], bool(alarm["data"]["where"]["module"])) == (2, True)  # type: ignore[index]
    assert "probability tensor" in ran.text
    assert "Cause found: NUM006" in ran.text


@contextmanager
def _started(command: list[str], folder: Path, variables: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "run.log").open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=dict(variables), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            end_group(process.pid)
            process.wait()


@pytest.mark.slow
def test_a_rank_that_hangs_is_named_while_it_hangs_and_after_the_run_was_ended(
    python: Path, model: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "doctor", "run", *QUIET, "--",
               *torchrun(python, str(HERE / "stands_still.py"), str(model))]  # fmt: skip
    variables = {**environment(python, tmp_path), "DOCTOR_GUARD_HANG_AT_LEAST_S": "8"}
    with _started(command, tmp_path, variables) as process:
        end = time.monotonic() + 220
        while not (list(tmp_path.glob("doctor-runs/2*")) and events(run_of(tmp_path), "alarm")):
            assert time.monotonic() < end, (tmp_path / "run.log").read_text()
            time.sleep(0.5)
        os.kill(process.pid, signal.SIGTERM)
        process.wait(60)
    found = run_of(tmp_path)
    (alarm,) = events(found, "alarm")
    assert alarm["id"] == "LCH023"
    assert alarm["data"]["where"]["rank"] == 1  # type: ignore[index]
    stacks = "".join(each.read_text() for each in found.path.glob("stacks/rank1-*.txt"))
    assert "waits_for_a_server" in stacks
    said = (tmp_path / "run.log").read_text().partition("ended with exit code")[2]
    assert "LCH023" in said
    assert "rank 1 is in" in said
    assert "waits_for_a_server" in said
