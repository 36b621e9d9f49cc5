"""A run that the guard stops, is resumed and is stopped again: its own stop is never taken for something else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.real.runs import PROGRAMS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[2]


def _doctor(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    return subprocess.run(
        [sys.executable, str(ROOT / "grpo_doctor.py"), *words],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip


def _found(source: str, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_doctor(["postmortem", source, "--format", "json"], folder).stdout)
    return found


def test_a_stop_is_no_end_without_a_step(python: Path, tmp_path: Path) -> None:
    for first_bad in ("5", "1"):  # the second one resumes, and is stopped in its first step: the loss in all is 0
        program = [str(python), str(PROGRAMS / "stopped.py"), first_bad]
        ran = _doctor(["run", "--no-check", "--", *program], tmp_path)
        assert ran.returncode == 119, ran.stdout + ran.stderr
        assert "no `save=` was given" not in ran.stderr
        for source in ("doctor-runs/last", "doctor-runs/last/logs/console.log"):
            told = [each["id"] for each in _found(source, tmp_path)["findings"]]
            assert told[0] == "NUM006", told
            assert "CKP029" not in told
    assert "'train_loss': '0'" in ran.stdout
    shown = _doctor(["report", "doctor-runs/last"], tmp_path).stdout
    assert "stopped by the guard" in shown
    assert "Nothing found" not in shown
