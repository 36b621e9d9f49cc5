"""The guard under old pairs of TRL and Transformers: found, told apart and dropped by what those versions have."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.run.folder import RunDir
from tests.real.runs import environment, lacking
from tests.real.runs import run as run_program

from .conftest import PROGRAMS, Guarded

pytestmark = pytest.mark.process

#: what the alarm says, by what is broken
REWARD = "`loss` is NaN at step 3: reward function `reward` returned inf"
MODULE = "`grad_norm` is NaN at step 3, first in module `model.layers.1.mlp.down_proj`"


@pytest.mark.parametrize(
    ("trl", "transformers", "case", "words"),
    [
        ("0.14.0", "4.46.3", "activation", MODULE),  # the oldest ones; TRL 0.14 generates within `compute_loss`
        ("0.17.0", "4.51.3", "reward-inf", REWARD),
        pytest.param("0.14.0", "4.46.3", "reward-inf", REWARD, marks=pytest.mark.slow),
        pytest.param("0.17.0", "4.51.3", "activation", MODULE, marks=pytest.mark.slow),
    ],
)
def test_a_nan_is_dropped_in_its_step(
    trl: str, transformers: str, case: str, words: str, python: Path, model: Path, carried: Path, tmp_path: Path
) -> None:
    name = f"trl-{trl.rpartition('.')[0]}"  # a folder beside the interpreter
    folder = python.parent.parent / name
    if not folder.is_dir():
        lacking(f"no TRL {trl} in {folder} (tools/make_real_stack.sh installs it)")
    (tmp_path / "run").mkdir()
    argv = [str(python), str(PROGRAMS / "guarded.py"), str(carried), str(model), case]
    ran = run_program(argv, tmp_path, {**environment(python, tmp_path), "PYTHONPATH": str(folder)})
    run = Guarded(ran, RunDir(tmp_path / "run"))
    assert ran.code == 0, ran.text[-3000:]
    (start,) = run.events("start")
    versions = start["data"]["versions"]
    assert (versions["trl"], versions["transformers"], start["data"]["unseen"]) == (trl, transformers, [])
    assert ("NUM006", 3, "checkpoint") in run.alarms
    assert {"generation", "update"} <= {each["data"]["name"] for each in run.events("phase")}
    assert words in run.text
    assert run.result["step"] == 3
    assert run.result["finite"]
    assert run.result["own"] == []
    assert (tmp_path / "out" / "checkpoint-3").is_dir()
