"""A transformers Trainer under Accelerate's FSDP, two processes over gloo: one rank alone sees a NaN."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.run.folder import RunDir
from tests.ports import free_port
from tests.real.runs import environment
from tests.real.runs import run as run_program

from .conftest import PROGRAMS, Guarded

pytestmark = pytest.mark.process

LIMIT_S = 280
CASES = ["never", "nan", "raises"]


@pytest.fixture
def train(python: Path, model: Path, carried: Path, tmp_path: Path) -> Callable[[str, str], Guarded]:
    """Runs a case of `programs/guarded_fsdp.py` with a version of FSDP."""

    def launch(version: str, case: str) -> Guarded:
        (tmp_path / "run").mkdir()
        argv = [
            str(python.parent / "torchrun"), "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint",
            f"127.0.0.1:{free_port()}", str(PROGRAMS / "guarded_fsdp.py"), str(carried), str(model), version, case,
        ]  # fmt: skip
        ran = run_program(argv, tmp_path, environment(python, tmp_path), limit_s=LIMIT_S)
        assert ran.code == 0, f"{ran.code}:\n{ran.text[-4000:]}"
        return Guarded(ran, RunDir(tmp_path / "run"))

    return launch


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("case", CASES)
def test_both_ranks_drop_the_step_search_for_the_module_save_and_stop(
    version: str, case: str, train: Callable[[str, str], Guarded]
) -> None:
    run = train(version, case)
    module = "model.layers.1.mlp.down_proj"
    found = {"never": [], "nan": [["NUM006", 3, 1, module]], "raises": [["NUM006", 3, None, None]]}[case]
    for rank in (0, 1):
        told: dict[str, Any] = json.loads((run.ran.folder / f"result-{rank}.json").read_text())
        expected = [[*each[:2], rank if each[2] is None else each[2], each[3]] for each in found]
        assert told == {"step": 3 if found else 5, "finite": True, "sharded": True, "found": expected}
    assert (run.ran.folder / "out" / "checkpoint-3").is_dir() is bool(found)
