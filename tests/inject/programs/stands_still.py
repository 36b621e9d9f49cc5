"""GRPO in two processes, of which rank 1 stays in a callback for ever after the fifth step: stands_still.py MODEL."""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "real" / "programs"))

import tiny
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class Stays(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 5 and os.environ["RANK"] == "1":
            self.waits_for_a_server()

    def waits_for_a_server(self):
        time.sleep(3600)


config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=8,
    logging_steps=1, learning_rate=1e-3, report_to=[], use_cpu=True, bf16=False, save_strategy="no", seed=1,
)  # fmt: skip
trainer = GRPOTrainer(
    model=sys.argv[1], reward_funcs=tiny.variety, args=config, train_dataset=tiny.sums(),
    processing_class=tiny.tokenizer(), callbacks=[Stays()],
)  # fmt: skip
trainer.train()
