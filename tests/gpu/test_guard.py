"""The guard on a real GPU: what it catches before the weights are spoiled, and how often it waits for the card."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.conftest import PROGRAMS, PYTHON

pytestmark = pytest.mark.process

ROOT = str(Path(__file__).parents[2])


def program(name: str, folder: Path, env: dict[str, str], *words: str) -> tuple[Any, str]:
    """What a program says behind RESULT, and on standard error."""
    done = subprocess.run(
        [PYTHON, str(PROGRAMS / name), *words], cwd=folder, env={**env, "PYTHONPATH": path(env)},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    lines = [each.partition("RESULT ")[2] for each in done.stdout.splitlines() if each.startswith("RESULT ")]
    assert lines, done.stderr
    return json.loads(lines[-1]), done.stderr


def path(env: dict[str, str]) -> str:
    return ":".join(each for each in (ROOT, env.get("PYTHONPATH")) if each)


@pytest.mark.parametrize("kind", ["scaler", "bf16"])
def test_at_most_one_wait_for_the_card_a_step(kind: str, tmp_path: Path, env: dict[str, str]) -> None:
    found, _ = program("watched.py", tmp_path, env, kind, "8")
    assert max(each["waits"] for each in found["with"]) <= max(each["waits"] for each in found["without"]) + 1


@pytest.mark.parametrize("case", ["nan", "inf"])
def test_a_spoiled_gradient_never_reaches_the_weights(case: str, tmp_path: Path, env: dict[str, str]) -> None:
    found, said = program("spoiled.py", tmp_path, env, case)
    assert found == {"finite": True, "steps": 5}
    assert "NUM006" in said
    assert "`3.weight`" in said


def test_a_loss_that_is_infinite_under_a_scaler(tmp_path: Path, env: dict[str, str]) -> None:
    found, said = program("spoiled.py", tmp_path, env, "overflow")
    assert found["finite"]
    assert "NUM006" in said or "NUM005" in said


def trained(folder: Path, env: dict[str, str], case: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("trl")
    command = [sys.executable, "-m", "doctor", "run", "--no-check", "--", PYTHON, str(PROGRAMS / "trained.py"), case]
    return subprocess.run(
        command, cwd=folder, env={**env, "PYTHONPATH": path(env)}, capture_output=True, text=True, timeout=280,
        check=False,
    )  # fmt: skip


def test_a_healthy_run_is_left_alone(tmp_path: Path, env: dict[str, str]) -> None:
    done = trained(tmp_path, env, "healthy")
    assert done.returncode == 0, done.stderr
    assert "FINITE True" in done.stdout
    assert "doctor: error" not in done.stderr


@pytest.mark.parametrize("case", ["weight", "reward"])
def test_a_nan_is_caught_in_its_step(case: str, tmp_path: Path, env: dict[str, str]) -> None:
    done = trained(tmp_path, env, case)
    assert "step 3" in done.stderr, done.stderr
    assert ("NUM006" if case == "weight" else "RLX006") in done.stderr
