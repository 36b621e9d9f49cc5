"""Programs that die on a real GPU, and what the post-mortem makes of their genuine output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.conftest import PROGRAMS, PYTHON

pytestmark = pytest.mark.process

CASES = {
    "out-of-memory": "MEM6839/training_step",
    "token-outside": "TOR012", "probabilities": "TOR012", "label-outside": "TOR012",
    "no-such-device": "LCH5095/processes", "two-devices": "TOR3430/tensors",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_named(case: str, tmp_path: Path, env: dict[str, str]) -> None:
    died = subprocess.run(
        [PYTHON, str(PROGRAMS / "dying.py"), case], env=env, capture_output=True, text=True, timeout=200, check=False
    )
    assert died.returncode != 0
    log = tmp_path / "train.log"
    log.write_text(died.stdout + died.stderr)
    command = [sys.executable, "-m", "doctor", "postmortem", str(log), "--format", "json"]
    told = json.loads(subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout)
    assert told["findings"][0]["id"] == CASES[case], died.stderr
