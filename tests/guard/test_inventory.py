"""The inventory that every `doctor run` of a trainer leaves in its run folder, with the real TRL."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import python  # noqa: F401 - a fixture
from tests.real.runs import environment

pytestmark = pytest.mark.process

#: GRPO of the tiny model with LoRA, and with one layer frozen by hand
_PROGRAM = """
import sys
sys.path.append(sys.argv[1])
import tiny
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer
config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=2, seed=1,
    learning_rate=1e-3, logging_steps=1, report_to=[], use_cpu=True, bf16=False, save_strategy="no",
)
model, lora = tiny.model(), None
if sys.argv[2] == "lora":
    lora = LoraConfig(r=4, target_modules=["q_proj"])
elif sys.argv[2] == "frozen":
    for each in model.parameters():
        each.requires_grad = each.shape == model.lm_head.weight.shape
trainer = GRPOTrainer(
    model=model, reward_funcs=tiny.variety, args=config, train_dataset=tiny.sums(), processing_class=tiny.tokenizer(),
    peft_config=lora,
)
trainer.train()
"""


def inventory(case: str, python: Path, folder: Path) -> dict[str, Any]:  # noqa: F811
    """What a run under `doctor run` left."""
    programs = Path(__file__).parents[1] / "real" / "programs"
    command = [sys.executable, "-m", "doctor", "run", "--no-check", "--no-monitor", "--"]
    done = subprocess.run(
        [*command, str(python), "-c", _PROGRAM, str(programs), case], cwd=folder, env=environment(python, folder),
        capture_output=True, text=True, timeout=200, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = folder.glob("doctor-runs/2*/inventory.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.timeout(300)
def test_adapters_train_and_what_they_stand_on_does_not(python: Path, tmp_path: Path) -> None:  # noqa: F811
    found = inventory("lora", python, tmp_path)
    assert found["schema"] == "doctor-inventory/1"
    assert sum(found["trainable"].values()) == 2 * 2 * 4 * 32, "two layers, A and B, of rank 4 and width 32"
    assert sum(found["frozen"].values()) > 10_000
    assert found["tensors"] == found["with_gradient"] == 4
    assert found["active_adapters"] == ["default"]
    assert found["batch"]["tokens"] >= found["batch"]["trained"] > 0
    assert found["batch"]["rows"] == 4
    assert (found["arguments"]["num_generations"], found["arguments"]["max_completion_length"]) == (4, 8)
    assert set(found["rates"]) <= {1e-3, 5e-4}
    assert found["batch"]["seen"], "a prompt and its completion as the model has them"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_was_frozen_by_hand_is_counted_so(python: Path, tmp_path: Path) -> None:  # noqa: F811
    found = inventory("frozen", python, tmp_path)
    assert sum(found["trainable"].values()) % (258 * 32) == 0
    assert found["without_gradient"] == {}
    assert not found["active_adapters"]
