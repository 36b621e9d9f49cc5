"""TRL GRPO: a name in `generation_kwargs` is misspelt, and completions repeat themselves as before."""

import os
import sys

from datasets import load_dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer


def exact(completions, answer, **kwargs):
    return [1.0 if right in text.split() else 0.0 for text, right in zip(completions, answer)]


def digits(completions, **kwargs):
    return [0.1 * any(each.isdigit() for each in text) for text in completions]


data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
GRPOTrainer(
    model=sys.argv[1],
    reward_funcs=[exact, digits],
    args=GRPOConfig(
        output_dir="asked",
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=24,
        learning_rate=1e-6,
        report_to="none",
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        generation_kwargs={"repetition_penality": 1.1},
    ),
    train_dataset=data.rename_column("question", "prompt"),
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
).train()
