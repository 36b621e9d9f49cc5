"""The guard under TRL 0.17 and Transformers 4.51: found, told apart and dropped by what those versions have."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.core.run_dir import RunDir
from tests.real.runs import environment, lacking
from tests.real.runs import run as run_program

from .conftest import PROGRAMS, Guarded

#: folder beside the interpreter, made by tools/make_real_stack.sh
OLD = "trl-0.17"


@pytest.mark.parametrize(
    ("case", "id_", "words"),
    [
        ("reward-inf", "NUM006", "`loss` is NaN at step 3: reward function `reward` returned inf"),
        pytest.param("activation", "NUM006", "born in module `model.layers.1.mlp.down_proj`", marks=pytest.mark.slow),
    ],
)
def test_a_nan_is_dropped_in_its_step(
    case: str, id_: str, words: str, python: Path, model: Path, carried: Path, tmp_path: Path
) -> None:
    folder = python.parent.parent / OLD
    if not folder.is_dir():
        lacking(f"no TRL 0.17 in {folder} (tools/make_real_stack.sh installs it)")
    (tmp_path / "run").mkdir()
    argv = [str(python), str(PROGRAMS / "guarded.py"), str(carried), str(model), case]
    ran = run_program(argv, tmp_path, {**environment(python, tmp_path), "PYTHONPATH": str(folder)})
    run = Guarded(ran, RunDir(tmp_path / "run"))
    assert ran.code == 0, ran.text[-3000:]
    (start,) = run.events("start")
    assert (start["data"]["versions"]["trl"], start["data"]["unseen"]) == ("0.17.0", [])
    assert (id_, 3, "checkpoint") in run.alarms
    assert words in run.text
    assert run.result["step"] == 3
    assert run.result["finite"]
    assert run.result["own"] == []
    assert (tmp_path / "out" / "checkpoint-3").is_dir()
