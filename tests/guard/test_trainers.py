"""The callback under the trainers of TRL beside GRPO, and under transformers' own: a NaN in one layer at step 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import Nursery
from tests.real.runs import Ran

from .conftest import PROGRAMS

NAMES = [
    "Trainer", "SFTTrainer", "DPOTrainer", "RewardTrainer", "RLOOTrainer", "OnlineDPOTrainer", "KTOTrainer",
    "DistillationTrainer",
]  # fmt: skip


EXPERIMENTAL = [
    f"{each}Trainer" for each in ("ORPO", "CPO", "TPO", "GKD", "GOLD", "IWOPD", "SDFT", "SDPO", "GMPO", "A2PO")
]
MODULE = "model.layers.1.mlp.down_proj"


@pytest.fixture(scope="module")
def ran(nursery: Nursery, model: Path, carried: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All of them in one process, one after another."""
    argv = [str(PROGRAMS / "trainers.py"), str(carried), str(model), *NAMES]
    return nursery.run(argv, tmp_path_factory.mktemp("trainers"), limit_s=280)


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_a_nan_is_dropped_in_its_step_named_and_the_run_saved_and_stopped(name: str, ran: Ran) -> None:
    assert ran.code == 0, ran.text[-3000:]
    assert told(ran, name) == [caught(name)]


@pytest.mark.slow
def test_experimental_trainers_are_guarded_alike_and_healthy_ones_are_silent(
    nursery: Nursery, model: Path, carried: Path, tmp_path: Path
) -> None:
    names = [*EXPERIMENTAL, *(f"{each}:healthy" for each in [*NAMES, *EXPERIMENTAL])]
    done = nursery.run([str(PROGRAMS / "trainers.py"), str(carried), str(model), *names], tmp_path, limit_s=280)
    assert done.code == 0, done.text[-3000:]
    for name in EXPERIMENTAL:
        assert told(done, name) == [caught(name), healthy(name)]
    for name in NAMES:
        assert told(done, name) == [healthy(name)]


def told(ran: Ran, name: str) -> list[dict[str, Any]]:
    """What the program said of the runs of one trainer."""
    lines = (json.loads(line) for line in ran.text.splitlines() if line.startswith('{"name"'))
    return [each for each in lines if each["name"] == name]


def caught(name: str) -> dict[str, Any]:
    return {"name": name, "step": 2, "saved": True, "finite": True, "found": [["NUM006", 2, MODULE]]}


def healthy(name: str) -> dict[str, Any]:
    return {"name": name, "step": 4, "saved": False, "finite": True, "found": []}
