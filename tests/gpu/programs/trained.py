"""GRPO of the tiny model on a GPU: trained.py healthy|weight|reward. `weight`, `reward`: NaN at step 3."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import tiny
import torch
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

CASE = sys.argv[1]
BROKEN_AT = 3


class At(TrainerCallback):
    """Knows the step, and spoils a weight before it."""

    step = 0

    def on_step_begin(self, args, state, control, model=None, **_):
        At.step = state.global_step + 1
        if CASE == "weight" and At.step == BROKEN_AT:
            with torch.no_grad():
                model.lm_head.weight[7, 5] = float("nan")


def reward(completions, **_):
    scores = tiny.variety(completions)
    if CASE == "reward" and At.step == BROKEN_AT:
        scores[1] = float("nan")
    return scores


config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=16, max_steps=8,
    logging_steps=1, learning_rate=1e-4, report_to=[], bf16=True, save_strategy="no", seed=1,
    generation_kwargs={"do_sample": CASE != "weight"},
)  # fmt: skip
trainer = GRPOTrainer(
    model=tiny.model(), reward_funcs=reward, args=config, train_dataset=tiny.sums(),
    processing_class=tiny.tokenizer(), callbacks=[At()],
)  # fmt: skip
trainer.train()
print("FINITE", all(bool(each.isfinite().all()) for each in trainer.model.parameters()))
