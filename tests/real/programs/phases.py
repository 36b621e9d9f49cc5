"""GRPO in two processes that mark what they do with `doctor.phase`: phases.py MODEL."""

import sys

import tiny
from trl import GRPOConfig, GRPOTrainer

import doctor


class Marked(GRPOTrainer):
    def training_step(self, *args, **named):
        with doctor.phase("update", self.state.global_step):
            return super().training_step(*args, **named)

    def _generate_and_score_completions(self, *args, **named):
        with doctor.phase("generation", self.state.global_step):
            return super()._generate_and_score_completions(*args, **named)


def reward(completions, **named):
    with doctor.phase("reward"):
        return tiny.variety(completions, **named)


config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=4,
    logging_steps=1, learning_rate=1e-3, report_to=[], use_cpu=True, bf16=False, save_strategy="no", seed=1,
)  # fmt: skip
Marked(
    model=sys.argv[1], reward_funcs=reward, args=config, train_dataset=tiny.sums(), processing_class=tiny.tokenizer(),
).train()  # fmt: skip
