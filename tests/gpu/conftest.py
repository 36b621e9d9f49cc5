"""What the tests on a real GPU share: which interpreter trains, and why they are skipped where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"

#: the interpreter that has a CUDA build of torch
PYTHON = os.environ.get("DOCTOR_GPU_PYTHON", sys.executable)

ASK = "import sys; import torch; sys.exit(0 if torch.cuda.is_available() else 'torch sees no GPU')"


@lru_cache
def missing() -> str | None:
    """Why nothing here can run; None where it can."""
    if shutil.which("nvidia-smi") is None:
        return "no NVIDIA GPU on this machine (nvidia-smi is absent)"
    asked = subprocess.run([PYTHON, "-c", ASK], capture_output=True, text=True, timeout=120, check=False)
    return None if asked.returncode == 0 else f"{PYTHON}: {asked.stderr.strip().splitlines()[-1]}"


@pytest.fixture(scope="session", autouse=True)
def _gpu() -> None:
    if (why := missing()) is not None:
        pytest.skip(why)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment without the settings of the tests' own machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOCTOR_", "CUDA_VISIBLE"))}
    return {**kept, "DOCTOR_LANG": "en", "TMPDIR": str(tmp_path), "COLUMNS": "100"}
