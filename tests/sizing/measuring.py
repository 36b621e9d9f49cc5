"""Runs the measuring programs in the interpreter that has the real stack."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.real.runs import environment, interpreter

PROGRAMS = Path(__file__).parent / "programs"


def peaks(cases: list[dict[str, Any]], folder: Path, *, ranks: int = 1, limit_s: float = 280) -> list[dict[str, int]]:
    """Most bytes by phase, for each case; with several ranks those of the first that answers."""
    python = interpreter()
    launcher = []
    if ranks > 1:
        launcher = ["-m", "torch.distributed.run", "--nproc_per_node", str(ranks), "--master_port", str(free_port())]
    argv = [str(python), *launcher, str(PROGRAMS / "peak_bytes.py"), json.dumps(cases)]
    answer = subprocess.run(
        argv, cwd=folder, env=environment(python, folder), capture_output=True, text=True, timeout=limit_s, check=False
    )
    lines = [line.partition("RESULT ")[2] for line in answer.stdout.splitlines() if "RESULT " in line]
    assert answer.returncode == 0, answer.stderr[-3000:]
    return [json.loads(line) for line in lines[:: max(1, ranks)]]


def counted(configs: list[dict[str, Any]], folder: Path) -> list[dict[str, int]]:
    """Parameters of real models built from configurations."""
    found: list[dict[str, int]] = printed("count_parameters.py", folder, json.dumps(configs))
    return found


def printed(program: str, folder: Path, given: str = "") -> Any:
    """The JSON that a program prints last."""
    python = interpreter()
    answer = subprocess.run(
        [str(python), str(PROGRAMS / program)], cwd=folder, env=environment(python, folder), input=given,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-3000:]
    return json.loads(answer.stdout.splitlines()[-1])
