"""Trainer on packed rows: their places begin anew, but a mask of ones comes along, with which no border is looked for.

Transformers finds the borders by `position_ids` only where no mask is given:
https://github.com/huggingface/transformers/pull/39194, https://github.com/huggingface/trl/issues/1230
"""

import json
import os
import sys

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

LENGTH = 192
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], attn_implementation="sdpa")


def pack():
    ids, labels, places = [], [], []
    with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
        for row in map(json.loads, file):
            prompt = tokenizer(f"{row['question']} ")["input_ids"]
            answer = tokenizer(row["answer"])["input_ids"] + [tokenizer.eos_token_id]
            size = len(prompt) + len(answer)
            if len(ids) + size > LENGTH:
                yield {"input_ids": ids, "labels": labels, "position_ids": places}
                ids, labels, places = [], [], []
            ids, labels, places = (
                ids + prompt + answer,
                labels + [-100] * len(prompt) + answer,
                places + list(range(size)),
            )


def collate(rows):
    width = max(len(row["input_ids"]) for row in rows)

    def filled(name, value):
        return torch.tensor([row[name] + [value] * (width - len(row[name])) for row in rows])

    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    return {
        "input_ids": filled("input_ids", tokenizer.pad_token_id),
        "labels": filled("labels", -100),
        "position_ids": filled("position_ids", 0),
        "attention_mask": (torch.arange(width)[None] < lengths[:, None]).long(),
    }


trainer = Trainer(
    model=model,
    args=TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=2,
        learning_rate=2e-5,
        num_train_epochs=4,
        logging_steps=1,
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
    ),
    train_dataset=Dataset.from_list(list(pack())),
    data_collator=collate,
)
trainer.train()
trainer.save_model("final")
