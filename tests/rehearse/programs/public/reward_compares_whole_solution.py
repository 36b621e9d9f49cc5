"""TRL: the column holds whole solutions as GSM8K writes them, and the reward compares the bare result with them.

The notebooks take the result behind `####` out of the column first; a copy of the reward alone does not:
https://github.com/unslothai/unsloth/issues/1761
"""

import json
import os
import re
import sys

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

SYSTEM = "Respond in the following format:\n<reasoning>\n...\n</reasoning>\n<answer>\n...\n</answer>"


def gsm8k():
    with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
        for row in map(json.loads, file):
            worked = f"I add both numbers.\nTheir sum is <<{row['question'][8:-1]}={row['answer']}>>{row['answer']}."
            yield {
                "prompt": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": row["question"]}],
                "answer": f"{worked}\n#### {row['answer']}",
            }


def extract_xml_answer(text):
    return text.split("<answer>")[-1].split("</answer>")[0].strip()


def correctness_reward(completions, answer, **kwargs):
    extracted = [extract_xml_answer(completion[0]["content"]) for completion in completions]
    return [2.0 if got == wanted else 0.0 for got, wanted in zip(extracted, answer)]


def format_reward(completions, **kwargs):
    pattern = re.compile(r"<reasoning>.*?</reasoning>\s*<answer>.*?</answer>", re.DOTALL)
    return [0.5 if pattern.search(completion[0]["content"]) else 0.0 for completion in completions]


trainer = GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=GRPOConfig(
        output_dir="out",
        learning_rate=5e-6,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=96,
        max_steps=250,
        report_to=[],
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=Dataset.from_list(list(gsm8k())),
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
    reward_funcs=[correctness_reward, format_reward],
)
trainer.train()
