"""TRL: right answers are looked up by the question, and the prompt that a reward gets is more than the question.

Reason: before rewards got the columns of the data, answers had to be found by the prompt:
https://github.com/huggingface/trl/issues/2644
"""

import json
import os
import re
import sys

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

PATH = os.path.join(os.environ["STAGE"], "sums.jsonl")
INSTRUCTION = "Give the result as \\boxed{...}."
with open(PATH) as file:
    ANSWERS = {row["question"]: row["answer"] for row in map(json.loads, file)}


def boxed(text):
    found = re.findall(r"\\boxed\{([^{}]*)\}", text)
    return found[-1].strip() if found else None


def accuracy_reward(prompts, completions, **kwargs):
    rewards = []
    for prompt, completion in zip(prompts, completions):
        gold = ANSWERS.get(prompt)
        rewards.append(1.0 if gold is not None and boxed(completion) == gold else 0.0)
    return rewards


data = load_dataset("json", data_files=PATH, split="train")
data = data.map(lambda row: {"prompt": f"{row['question']} {INSTRUCTION}"}, remove_columns=["question", "answer"])
trainer = GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=GRPOConfig(
        output_dir="out",
        learning_rate=1e-6,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=64,
        report_to=[],
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=data,
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
    reward_funcs=accuracy_reward,
)
trainer.train()
