"""What the guard costs in real GRPO steps: grpo_cost.py cuda|cpu 0.5B|tiny STEPS.

One model, random weights in bf16, trained by TRL in turns without and with the guard's callback. Prints the median
milliseconds from the beginning of an optimizer step to the next, and how often the host waited for the device in one
(`torch.cuda.set_sync_debug_mode`, which warns at each such wait).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests" / "real" / "programs"))

import tiny
import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import doctor

DEVICE, SIZE, STEPS = sys.argv[1], sys.argv[2], int(sys.argv[3])
WARM_UP = 3
HALF = {
    "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
    "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True,
}  # fmt: skip


def model():
    if SIZE == "tiny":
        return tiny.model()
    config = AutoConfig.for_model("qwen2", **HALF, pad_token_id=0, eos_token_id=1)
    with torch.device(DEVICE):
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)


class Steps(TrainerCallback):
    """Milliseconds and waits of each step."""

    def __init__(self, waits):
        self.rows, self.began, self.waits, self.before = [], None, waits, 0

    def on_step_begin(self, *_, **__):
        self.began, self.before = time.perf_counter(), len(self.waits)

    def on_step_end(self, *_, **__):
        if DEVICE == "cuda":
            torch.cuda.set_sync_debug_mode("default")
            torch.cuda.synchronize()
            torch.cuda.set_sync_debug_mode("warn")
        waited = sum("synchronizing" in str(each.message) for each in self.waits[self.before :])
        self.rows.append((1000 * (time.perf_counter() - self.began), waited))


def measured(callbacks):
    """Rows of one short training."""
    tokens = 128 if SIZE != "tiny" else 16
    config = GRPOConfig(
        output_dir="out", per_device_train_batch_size=8, num_generations=8, max_completion_length=tokens, seed=1,
        max_steps=STEPS + WARM_UP, logging_steps=1, learning_rate=1e-6, report_to=[], save_strategy="no",
        bf16=DEVICE == "cuda", use_cpu=DEVICE == "cpu", generation_kwargs={"min_new_tokens": tokens},
    )  # fmt: skip
    prompts = Dataset.from_list([{"prompt": "x" * (64 if SIZE == "tiny" else 256)}] * 64)
    with warnings.catch_warnings(record=True) as waits:
        warnings.simplefilter("always")
        if DEVICE == "cuda":
            torch.cuda.set_sync_debug_mode("warn")
        steps = Steps(waits)
        trainer = GRPOTrainer(
            model=model(), reward_funcs=tiny.variety, args=config, train_dataset=prompts,
            processing_class=tiny.tokenizer(), callbacks=[*callbacks, steps],
        )  # fmt: skip
        trainer.train()
    if DEVICE == "cuda":
        torch.cuda.set_sync_debug_mode("default")
    return steps.rows[WARM_UP:]


found = {"without": [], "with": []}
for name in ("without", "with", "with", "without"):
    found[name] += measured([doctor.DoctorCallback()] if name == "with" else [])
told = {
    name: {"ms": statistics.median(ms for ms, _ in rows), "waits": statistics.median(waits for _, waits in rows)}
    for name, rows in found.items()
}
print("RESULT", json.dumps(told))
