"""GRPO of the tiny model with NaN at step 3: grpo_spoiled.py cuda|cpu healthy|weight|backward|reward."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests" / "real" / "programs"))

import tiny
import torch
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

DEVICE, CASE = sys.argv[1:3]
BROKEN_AT = 3


class At(TrainerCallback):
    """Knows the step, and spoils a weight before it."""

    step = 0

    def on_step_begin(self, args, state, control, model=None, **_):
        At.step = state.global_step + 1
        if CASE == "weight" and At.step == BROKEN_AT:
            with torch.no_grad():
                model.lm_head.weight[7, 5] = float("nan")


def spoil(gradient):
    """A gradient as a kernel leaves it that divides by 0."""
    return gradient * float("nan") if CASE == "backward" and At.step == BROKEN_AT else gradient


def reward(completions, **_):
    scores = tiny.variety(completions)
    if CASE == "reward" and At.step == BROKEN_AT:
        scores[1] = float("nan")
    return scores


config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=16, max_steps=8,
    logging_steps=1, learning_rate=1e-4, report_to=[], bf16=DEVICE == "cuda", use_cpu=DEVICE == "cpu", seed=1,
    save_strategy="no", generation_kwargs={"do_sample": CASE != "weight"},
)  # fmt: skip
model = tiny.model()
model.model.layers[1].mlp.down_proj.weight.register_hook(spoil)
trainer = GRPOTrainer(
    model=model, reward_funcs=reward, args=config, train_dataset=tiny.sums(), processing_class=tiny.tokenizer(),
    callbacks=[At()],
)  # fmt: skip
trainer.train()
finite = all(bool(each.isfinite().all()) for each in trainer.model.parameters())
print("FINITE", finite)
