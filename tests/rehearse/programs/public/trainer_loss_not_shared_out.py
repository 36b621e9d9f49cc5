"""Trainer with a loss of its own that takes `num_items_in_batch` and leaves it aside: steps are four times as large.

https://github.com/MakazhanAlpamys/Soup/issues/720, https://github.com/huggingface/transformers/issues/37766
"""

import json
import os
import sys

import torch
import torch.nn.functional as F
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])


class SmoothedTrainer(Trainer):
    """Smooths the targets."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = F.cross_entropy(
            outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100, label_smoothing=0.0
        )
        return (loss, outputs) if return_outputs else loss


def tokenized():
    with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
        for row in map(json.loads, file):
            prompt = tokenizer(f"Q: {row['question']} A:")["input_ids"]
            answer = tokenizer(f" {row['answer']}")["input_ids"] + [tokenizer.eos_token_id]
            yield {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


def collate(rows):
    width = max(len(row["input_ids"]) for row in rows)
    ids = [row["input_ids"] + [tokenizer.pad_token_id] * (width - len(row["input_ids"])) for row in rows]
    labels = [row["labels"] + [-100] * (width - len(row["labels"])) for row in rows]
    mask = [[1] * len(row["input_ids"]) + [0] * (width - len(row["input_ids"])) for row in rows]
    return {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels), "attention_mask": torch.tensor(mask)}


args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=2,
    gradient_accumulation_steps=4,
    learning_rate=1e-5,
    num_train_epochs=3,
    logging_steps=2,
    report_to=[],
    use_cpu=True,
    remove_unused_columns=False,
)
trainer = SmoothedTrainer(
    model=model, args=args, train_dataset=Dataset.from_list(list(tokenized())), data_collator=collate
)
trainer.train()
