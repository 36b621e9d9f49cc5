"""GRPO under DeepSpeed in fp16, with rewards that fit or overflow: grpo_deepspeed.py MODEL STAGE REWARD."""

import sys

import tiny
from deepspeed.accelerator import get_accelerator
from trl import GRPOConfig, GRPOTrainer

MODEL, STAGE, REWARD = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
DEEPSPEED = {
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "zero_optimization": {"stage": STAGE},
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
    "fp16": {"enabled": True, "initial_scale_power": 4, "loss_scale_window": 2, "hysteresis": 1, "min_loss_scale": 1},
}
# torch computes in fp16 on every CPU; DeepSpeed refuses one that has no instructions for it before it tries
type(get_accelerator()).is_fp16_supported = lambda self: True


def reward(completions, **_):
    return [REWARD * len(set(each)) for each in completions]


config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=12,
    logging_steps=1, learning_rate=1e-3, report_to=[], use_cpu=True, bf16=False, fp16=True, save_strategy="no", seed=1,
    scale_rewards=False, gradient_checkpointing=False, deepspeed=DEEPSPEED,
)  # fmt: skip
trainer = GRPOTrainer(
    model=MODEL, reward_funcs=reward, args=config, train_dataset=tiny.sums(), processing_class=tiny.tokenizer()
)
trainer.train()
print("finished")
