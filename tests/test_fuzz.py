"""Thousands of damaged inputs of every kind: no traceback, no hang, no 500 MB.

Each input comes of one number, which a failure prints; ``DOCTOR_FUZZ_SEED=N DOCTOR_FUZZ_COUNT=1`` before
``pytest tests/test_fuzz.py -m slow`` makes it again. Inputs are taken in portions, each portion in a process of its own
under limits of the system for memory and processor time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEED = int(os.environ.get("DOCTOR_FUZZ_SEED", "20260301"))
COUNT = int(os.environ.get("DOCTOR_FUZZ_COUNT", "5000"))
PORTION = 50
PROGRAM = Path(__file__).parent / "fuzz" / "program.py"


def fuzzed(first: int, count: int, folder: Path) -> None:
    argv = [sys.executable, str(PROGRAM), str(first), str(count), str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=600, check=False, cwd=folder)
    assert done.returncode == 0, f"seed {first} and the {count} from it:\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"


@pytest.mark.slow
@pytest.mark.timeout(700)
@pytest.mark.parametrize("at", range(0, COUNT, PORTION))
def test_damaged_inputs_of_every_kind(at: int, tmp_path: Path) -> None:
    fuzzed(SEED + at, min(PORTION, COUNT - at), tmp_path)


@pytest.mark.timeout(200)
@pytest.mark.process
def test_the_fuzzer_sees_a_traceback_and_memory(tmp_path: Path) -> None:
    """What it is for: a fault that is put in is found and named by its number."""
    environ = {**os.environ, "DOCTOR_FUZZ_FAULT": "1"}
    argv = [sys.executable, str(PROGRAM), "7", "1", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=150, check=False, cwd=tmp_path, env=environ)
    assert done.returncode == 1
    assert "seed 7" in done.stdout
    assert "ZeroDivisionError" in done.stdout
