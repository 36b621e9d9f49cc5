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


@pytest.fixture(scope="module")
def ran(nursery: Nursery, model: Path, carried: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All of them in one process, one after another."""
    argv = [str(PROGRAMS / "trainers.py"), str(carried), str(model), *NAMES]
    return nursery.run(argv, tmp_path_factory.mktemp("trainers"), limit_s=280)


@pytest.mark.parametrize("name", NAMES)
def test_a_nan_is_dropped_in_its_step_named_and_the_run_saved_and_stopped(name: str, ran: Ran) -> None:
    assert ran.code == 0, ran.text[-3000:]
    told: list[dict[str, Any]] = [json.loads(line) for line in ran.text.splitlines() if line.startswith('{"name"')]
    (of_it,) = [each for each in told if each["name"] == name]
    module = "model.layers.1.mlp.down_proj"
    assert of_it == {"name": name, "step": 2, "saved": True, "finite": True, "found": [["NUM006", 2, module]]}
