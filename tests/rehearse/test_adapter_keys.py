"""A saved adapter beside its real base model, by names and shapes alone, with the real PEFT."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from doctor.checks.checkpoint import adapter_weights_not_loaded
from doctor.checks.checkpoint.of_another_model import shapes

ROOT = Path(__file__).parents[2]

#: makes a base model's configuration and adapters for it, and prints what is compared of each
_PROGRAM = """
import json, shutil, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from peft import LoraConfig, PeftConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, Qwen2Config
from doctor.monitors.rehearse.adapter_keys import FILE, compared
shape = {"vocab_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
for name, width in (("base", 32), ("wide", 64)):
    config = Qwen2Config(**shape, num_key_value_heads=2, hidden_size=width, architectures=["Qwen2ForCausalLM"])
    config.save_pretrained(name)
made = AutoModelForCausalLM.from_config(Qwen2Config.from_pretrained("base"))
for name, task in (("good", "CAUSAL_LM"), ("no-task", None)):
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type=task)
    model = get_peft_model(AutoModelForCausalLM.from_config(made.config), lora)
    model.save_pretrained(name)
for name in ("renamed", "other-base", "empty"):
    shutil.copytree("good", name)
weights = load_file(f"good/{FILE}")
renamed = {each.replace("model.layers", "model.language_model.layers"): value for each, value in weights.items()}
save_file(renamed, f"renamed/{FILE}")
save_file({}, f"empty/{FILE}")
told = {}
for name in ("good", "no-task", "renamed", "other-base", "empty"):
    path = Path(name, "adapter_config.json")
    values = json.loads(path.read_text())
    values["base_model_name_or_path"] = "wide" if name == "other-base" else "base"
    path.write_text(json.dumps(values))
    told[name] = compared(name, PeftConfig.from_pretrained(name))
shutil.rmtree("base")
told["base-gone"] = compared("good", PeftConfig.from_pretrained("good"))
print("RESULT", json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("adapters")
    done = subprocess.run(
        [str(python), "-c", _PROGRAM, str(ROOT)], cwd=folder, capture_output=True, text=True, timeout=200, check=False,
        env={"HF_HUB_OFFLINE": "1", "HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    lines = [each[7:] for each in done.stdout.splitlines() if each.startswith("RESULT ")]
    assert lines, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(lines[-1])
    return found


@pytest.mark.process
@pytest.mark.parametrize("name", ["good", "no-task"])
def test_an_adapter_that_fits_is_left_in_peace(name: str, told: dict[str, Any]) -> None:
    assert told[name] == {"folder": name, "base": "base", "missing": [], "unexpected": [], "shapes": {}}
    assert adapter_weights_not_loaded.of_rehearsal(told[name]) is None
    assert shapes.of_rehearsal(told[name]) is None


@pytest.mark.process
@pytest.mark.parametrize("name", ["renamed", "empty"])
def test_names_that_the_base_model_does_not_find_are_told(name: str, told: dict[str, Any]) -> None:
    found = adapter_weights_not_loaded.of_rehearsal(told[name])
    assert found is not None
    assert "lora_A" in found.words("en").headline
    assert ("language_model" in str(found.evidence)) == (name == "renamed")


@pytest.mark.process
def test_an_adapter_of_another_base_model_is_told_by_its_shapes(told: dict[str, Any]) -> None:
    found = shapes.of_rehearsal(told["other-base"])
    assert found is not None
    assert "LoRA" in found.words("en").headline


@pytest.mark.process
def test_of_a_base_model_that_cannot_be_read_nothing_is_claimed(told: dict[str, Any]) -> None:
    assert told["base-gone"] is None
