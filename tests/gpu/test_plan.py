"""`doctor plan` against the peaks of torch's allocator in real GRPO steps on a GPU."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doctor.sizing.architecture import shape_of
from doctor.sizing.budget import budget_of
from doctor.sizing.setup import Hardware, Lora, Setup
from tests.gpu.conftest import PROGRAMS, PYTHON

pytestmark = pytest.mark.process

#: of the peak of a phase
CLOSE = 0.15

HALF: dict[str, Any] = {
    "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
    "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True,
}  # fmt: skip
ARGUMENTS = {"per_device_train_batch_size": 8, "num_generations": 8, "max_completion_length": 96, "bf16": True}
BF16 = {"model_init_kwargs": {"dtype": "bfloat16"}}
ADAPTER = {"r": 16, "target_modules": "all-linear"}
#: name -> (changed arguments, LoRA, changes of the setup)
CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any]]] = {
    "float32, checkpointing": ({"model_init_kwargs": {"dtype": "float32"}, "gradient_checkpointing": True}, None, {}),
    "bfloat16": ({**BF16, "gradient_checkpointing": False}, None, {"weights": "bfloat16", "checkpointing": False}),
    "LoRA": ({**BF16, "gradient_checkpointing": True}, ADAPTER, {"weights": "bfloat16", "lora": Lora(16)}),
}
PROMPT = 256


def test_peaks(tmp_path: Path, env: dict[str, str]) -> None:
    pytest.importorskip("trl")
    asked = [
        {"name": name, "model": HALF, "arguments": {**ARGUMENTS, **changed}, "lora": lora, "prompt_length": PROMPT}
        for name, (changed, lora, _) in CASES.items()
    ]
    done = subprocess.run(
        [PYTHON, str(PROGRAMS / "peaks.py"), json.dumps(asked)], cwd=tmp_path, env=env, capture_output=True, text=True,
        timeout=290, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.partition("RESULT ")[2] for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    base = Setup(
        shape_of(HALF), Hardware(1, 80 << 30), strategy="single", weights="float32", mixed="bf16", batch=8,
        generations=8, prompt_length=PROMPT, completion_length=96, checkpointing=True,
    )  # fmt: skip
    for found in map(json.loads, lines):
        budget = budget_of(replace(base, **CASES[found["name"]][2]))
        assert budget.peak.likely == pytest.approx(found["card"], rel=CLOSE), found["name"]
        phases = {each.name: each for each in budget.phases}
        for name in ("update", "step"):
            tensors = sum(each.likely for each in phases[name].parts if each.key not in ("context", "slack"))
            assert tensors == pytest.approx(found["allocated"][name], rel=CLOSE), (found["name"], name)
