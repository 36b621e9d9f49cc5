"""GRPO on conversations with tags in the answers, as Open-R1 writes it: chat.py BASE CASE [deepspeed.json]."""

import os
import re
import sys

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

BASE, CASE = sys.argv[1:3]
HERE = os.environ.get("STAGE", ".")
FORMAT = re.compile(r"^<think>\n?.*?\n?</think>\n?<answer>\n?.*?\n?</answer>\s*$", re.DOTALL)


def content(completions):
    return [each[0]["content"] for each in completions]


def format_reward(completions, **_):
    return [0.2 if FORMAT.match(each) else 0.0 for each in content(completions)]


def accuracy_reward(completions, solution, **_):
    found = [re.search(r"<answer>\s*(.*?)\s*</answer>", each, re.DOTALL) for each in content(completions)]
    return [1.0 if each and each[1] == right else 0.0 for each, right in zip(found, solution)]


def wrong_accuracy(completions, solution, **_):
    """Looks for a tag that the prompt does not ask for."""
    found = [re.search(r"<result>(.*?)</result>", each) for each in content(completions)]
    return [1.0 if each and each[1] == right else 0.0 for each, right in zip(found, solution)]


def of_strings(completions, **_):
    return [float(len(each.split())) for each in completions]


REWARDS = {
    "right": [format_reward, accuracy_reward],
    "other-tag": [wrong_accuracy],
    "strings": [of_strings],
}[CASE]
config = GRPOConfig(
    output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=64, max_steps=100,
    use_cpu=True, bf16=False, report_to=[], save_steps=50, logging_steps=1, learning_rate=1e-6,
    gradient_accumulation_steps=int(os.environ.get("ACCUMULATION", "1")),
    deepspeed=sys.argv[3] if len(sys.argv) > 3 else None, gradient_checkpointing=False,
)  # fmt: skip
trainer = GRPOTrainer(
    model=BASE,
    args=config,
    train_dataset=load_dataset("json", data_files=os.path.join(HERE, "chat.jsonl"), split="train"),
    reward_funcs=REWARDS,
)
trainer.train()
