"""TRL: the result is taken out of whole solutions first, and answers are looked up by what the reward really gets."""

import json
import os
import re
import sys

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

SYSTEM = "Respond in the following format:\n<reasoning>\n...\n</reasoning>\n<answer>\n...\n</answer>"


def result_of(solution):
    return solution.split("####")[1].strip().replace(",", "")


def gsm8k():
    with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
        for row in map(json.loads, file):
            solution = f"I add both numbers.\nTheir sum is {row['answer']}.\n#### {row['answer']}"
            yield {
                "prompt": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": row["question"]}],
                "answer": result_of(solution),
            }


DATA = list(gsm8k())
BY_QUESTION = {row["prompt"][-1]["content"]: row["answer"] for row in DATA}


def extracted(text):
    return text.split("<answer>")[-1].split("</answer>")[0].strip() if "<answer>" in text else None


def correctness_reward(prompts, completions, **kwargs):
    wanted = [BY_QUESTION[prompt[-1]["content"]] for prompt in prompts]
    return [2.0 if extracted(each[0]["content"]) == gold else 0.0 for each, gold in zip(completions, wanted)]


def whole_number_reward(completions, answer, **kwargs):
    found = [extracted(each[0]["content"]) for each in completions]
    return [0.25 * (each is not None and each.isdigit()) + (each == gold) for each, gold in zip(found, answer)]


def format_reward(completions, **kwargs):
    pattern = re.compile(r"^\s*<reasoning>.*?</reasoning>\s*<answer>.*?</answer>\s*$", re.DOTALL)
    return [0.5 if pattern.match(completion[0]["content"]) else 0.0 for completion in completions]


trainer = GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=GRPOConfig(
        output_dir="out",
        learning_rate=5e-6,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        num_generations=4,
        max_completion_length=96,
        max_steps=250,
        save_steps=100,
        report_to=[],
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=Dataset.from_list(DATA),
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
    reward_funcs=[correctness_reward, whole_number_reward, format_reward],
)
trainer.train()
