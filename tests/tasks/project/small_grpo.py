"""GRPO of a tiny model, with a save."""

import tiny
from trl import GRPOConfig, GRPOTrainer

config = GRPOConfig(
    output_dir="out",
    per_device_train_batch_size=4,
    num_generations=4,
    max_completion_length=16,
    max_steps=6,
    save_steps=3,
    report_to=[],
    use_cpu=True,
    bf16=False,
    seed=1,
)
trainer = GRPOTrainer(
    model="model",
    reward_funcs=tiny.variety,
    args=config,
    train_dataset=tiny.sums(),
    processing_class=tiny.tokenizer(),
)
trainer.train()
