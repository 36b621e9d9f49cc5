"""`doctor plan` against torch's allocator and NVML in real GRPO steps: the error of each of twelve settings."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Bench, needs_trl, program, relative, step

from doctor.sizing.architecture import shape_of
from doctor.sizing.budget import budget_of
from doctor.sizing.setup import Hardware, Lora, Setup

HALF: dict[str, Any] = {
    "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
    "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True,
}  # fmt: skip
LARGER = {**HALF, "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12}
SMALL_VOCABULARY = {**HALF, "vocab_size": 32000}
ARGUMENTS: dict[str, Any] = {
    "per_device_train_batch_size": 8, "num_generations": 8, "max_completion_length": 192, "bf16": True,
    "gradient_checkpointing": True,
}  # fmt: skip
PROMPT = 256
BF16 = {"model_init_kwargs": {"dtype": "bfloat16"}}
ADAPTER = {"r": 16, "target_modules": "all-linear"}
ROWS = {"weights": "bfloat16"}

#: name -> (model, changed arguments, LoRA, changes of the setup)
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None, dict[str, Any]]] = {
    "float32, autocast, checkpointing": (HALF, {"model_init_kwargs": {"dtype": "float32"}}, None, {}),
    "bfloat16, checkpointing": (HALF, BF16, None, ROWS),
    "bfloat16, no checkpointing": (
        HALF, {**BF16, "gradient_checkpointing": False}, None, {**ROWS, "checkpointing": False},
    ),
    "bfloat16, batch of 32": (HALF, {**BF16, "per_device_train_batch_size": 32}, None, {**ROWS, "batch": 32}),
    "bfloat16, completions of 768": (
        HALF, {**BF16, "max_completion_length": 768}, None, {**ROWS, "completion_length": 768},
    ),
    "bfloat16, vocabulary of 32,000": (SMALL_VOCABULARY, BF16, None, ROWS),
    "bfloat16, accumulation of 4": (
        HALF, {**BF16, "gradient_accumulation_steps": 4}, None, {**ROWS, "accumulation": 4},
    ),
    "bfloat16, reference model": (HALF, {**BF16, "beta": 0.04}, None, {**ROWS, "beta": 0.04}),
    "LoRA, bfloat16, checkpointing": (LARGER, BF16, ADAPTER, {**ROWS, "lora": Lora(16)}),
    "LoRA, bfloat16, no checkpointing": (
        HALF, {**BF16, "gradient_checkpointing": False}, ADAPTER, {**ROWS, "lora": Lora(16), "checkpointing": False},
    ),
    "1.5B's shape, bfloat16": (LARGER, BF16, None, ROWS),
    "1.5B's shape, reference model": (LARGER, {**BF16, "beta": 0.04}, None, {**ROWS, "beta": 0.04}),
}  # fmt: skip


def run(bench: Bench) -> None:
    """Measure all cases in one process, on a CPU those of the tests that count tensors."""
    needs_trl()
    rows = of_the_card(bench) if bench.on_card else of_the_cpu(bench)
    errors = [abs(each["error"]) for each in rows if "error" in each]
    bench.measures |= {"rows": rows, "error_worst": max(errors), "error_mean": sum(errors) / len(errors)}


def of_the_card(bench: Bench) -> list[dict[str, Any]]:
    """The card's peak by NVML, and the tensors' by phase, each against the estimate."""
    asked = [
        {"name": name, "model": model, "arguments": {**ARGUMENTS, **changed}, "lora": lora, "prompt_length": PROMPT}
        for name, (model, changed, lora, _) in CASES.items()
    ]
    done = bench.call(program("peaks.py", json.dumps(asked)), limit_s=560)
    found = [json.loads(each[7:]) for each in done.stdout.splitlines() if each.startswith("RESULT ")]
    if not found:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return [compared(each) for each in found]


def compared(found: dict[str, Any]) -> dict[str, Any]:
    """A row: bytes as measured and as estimated, and the error of the card's peak."""
    if "card" not in found:
        return found
    model, changed, _, changes = CASES[found["name"]]
    length = changed.get("max_completion_length", ARGUMENTS["max_completion_length"])
    base = Setup(
        shape_of(model), Hardware(1, 80 << 30), strategy="single", weights="float32", mixed="bf16", batch=8,
        generations=8, prompt_length=PROMPT, completion_length=length, checkpointing=True,
    )  # fmt: skip
    budget = budget_of(replace(base, **changes))
    update = next(each for each in budget.phases if each.name == "update")
    tensors = sum(each.likely for each in update.parts if each.key not in ("context", "slack"))
    return {
        "name": found["name"], "card": found["card"], "card_estimated": budget.peak.likely,
        "error": relative(budget.peak.likely, found["card"]), "update": found["allocated"]["update"],
        "update_estimated": tensors, "update_error": relative(tensors, found["allocated"]["update"]),
    }  # fmt: skip


def of_the_cpu(bench: Bench) -> list[dict[str, Any]]:
    """Two small cases, every tensor counted."""
    from tests.sizing import cases, measuring

    names = ["plain", "LoRA, bfloat16"]
    counted = measuring.peaks([cases.request_of(each) for each in names], bench.folder)
    rows = []
    for name, found in zip(names, counted, strict=True):
        update = next(each for each in budget_of(cases.setup_of(name)).phases if each.name == "update")
        tensors = sum(each.likely for each in update.parts if each.key not in ("context", "slack"))
        rows.append({"name": name, "update": found["update"], "error": relative(tensors, found["update"])})
    return rows


if __name__ == "__main__":
    step(run)
