"""TRL: a price for every character outweighs the points for a right answer: silence earns most.

Reason: answers that shrink to nothing under a price for length: https://github.com/huggingface/open-r1/issues/255 has
rewards that fall below 0 by length.
"""

import os
import sys

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

data = load_dataset("json", data_files=os.path.join(os.environ["STAGE"], "sums.jsonl"), split="train")
data = data.map(lambda row: {"prompt": f"{row['question']} Reason, then write Answer: and the number."})


def accuracy(completions, answer, **kwargs):
    return [0.5 if text.rpartition("Answer:")[2].strip() == gold else 0.0 for text, gold in zip(completions, answer)]


def concise(completions, **kwargs):
    return [-0.1 * len(text) for text in completions]


trainer = GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=GRPOConfig(
        output_dir="out",
        learning_rate=1e-6,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=64,
        report_to=[],
        use_cpu=True,
        bf16=False,
    ),
    train_dataset=data,
    processing_class=AutoTokenizer.from_pretrained(sys.argv[1]),
    reward_funcs=[accuracy, concise],
)
trainer.train()
