"""The scripted SGLang answers what the real server's routes and request classes make of the same questions.

Wants an interpreter that can import SGLang's HTTP server, named by DOCTOR_SGLANG_PYTHON (no GPU is needed; without
kernels its wheel is installed by `pip install --no-deps`, and what its modules import by name).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

PYTHON = os.environ.get("DOCTOR_SGLANG_PYTHON", "")

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="DOCTOR_SGLANG_PYTHON names no interpreter with SGLang"),
]


def test_the_real_routes_take_the_questions_and_give_the_same_answers() -> None:
    program = Path(__file__).parent / "programs" / "sglang_http.py"
    ran = subprocess.run([PYTHON, str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["real"] == told["scripted"]
    assert len(told["real"]["score"]) == 2
    assert told["lacks"] == [], "routes that the witness asks"
    assert told["salts"] == [["a", "a"]], "a salt is of all rows of a batch, and only of the request that has one"
