"""Trainer with a collator of its own: rows are cut at 48 tokens as a whole, and long prompts leave no answer.

Rows with the long question have no label at all; the loss of the batch is that of the other rows.
"""

import json
import os
import sys

import torch
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

LENGTH = 48


class Sums(Dataset):
    def __init__(self, path, tokenizer):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file]
        self.tokenizer = tokenizer

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        row = self.rows[at]
        question = row["question"] if at % 2 else f"Please compute the following sum carefully: {row['question']}"
        prompt = self.tokenizer(f"Question: {question}\nAnswer:")["input_ids"]
        answer = self.tokenizer(f" {row['answer']}")["input_ids"] + [self.tokenizer.eos_token_id]
        return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


class Collator:
    def __init__(self, tokenizer):
        self.pad = tokenizer.pad_token_id

    def __call__(self, rows):
        width = min(LENGTH, max(len(row["input_ids"]) for row in rows))

        def padded(name, value):
            return torch.tensor([(row[name] + [value] * width)[:width] for row in rows])

        mask = torch.tensor([([1] * len(row["input_ids"]) + [0] * width)[:width] for row in rows])
        return {"input_ids": padded("input_ids", self.pad), "labels": padded("labels", -100), "attention_mask": mask}


tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
Trainer(
    model=AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    args=TrainingArguments(
        output_dir="sft-out",
        per_device_train_batch_size=6,
        num_train_epochs=3,
        learning_rate=2e-5,
        lr_scheduler_type="cosine",
        warmup_steps=2,
        report_to="none",
        use_cpu=True,
        save_steps=8,
    ),
    train_dataset=Sums(os.path.join(os.environ["STAGE"], "sums.jsonl"), tokenizer),
    data_collator=Collator(tokenizer),
).train()
