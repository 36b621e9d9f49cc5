"""GRPO with planted faults: what `doctor check` says of it stands in the READMEs."""

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer


def reward(completions, **kwargs):
    return [min(len(set(each)) / 20, 1.0) for each in completions]


args = GRPOConfig(
    output_dir="outputs",
    max_prompt_length=512,
    num_generations=6,
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    fp16=True,
)
trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-0.5B-Instruct",
    reward_funcs=reward,
    args=args,
    train_dataset=load_dataset("json", data_files="prompts.jsonl", split="train"),
)
trainer.train()
