"""Accelerate: the optimizer is not prepared, so that it steps after every part of a batch that is to be accumulated.

Reason: on one device a loop works without it, and only a prepared optimizer leaves the steps in between out:
https://github.com/QwenLM/Qwen3-TTS/pull/326
"""

import json
import os
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=8)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)


class Sums(torch.utils.data.Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        prompt = tokenizer(f"User: {row['question']}\nAssistant:")["input_ids"]
        answer = tokenizer(f" {row['answer']}")["input_ids"] + [tokenizer.eos_token_id]
        return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


def pad(rows):
    longest = max(len(row["input_ids"]) for row in rows)
    fill = {"input_ids": tokenizer.pad_token_id, "labels": -100}
    batch = {
        name: torch.tensor([row[name] + [value] * (longest - len(row[name])) for row in rows])
        for name, value in fill.items()
    }
    batch["attention_mask"] = torch.tensor(
        [[1] * len(row["input_ids"]) + [0] * (longest - len(row["input_ids"])) for row in rows]
    )
    return batch


loader = DataLoader(Sums(os.path.join(os.environ["STAGE"], "sums.jsonl")), batch_size=2, shuffle=True, collate_fn=pad)
model, loader = accelerator.prepare(model, loader)
model.train()
for epoch in range(3):
    for batch in loader:
        with accelerator.accumulate(model):
            output = model(**batch)
            accelerator.backward(output.loss)
            optimizer.step()
            optimizer.zero_grad()
    accelerator.print(f"epoch {epoch} loss {output.loss.item():.3f}")
accelerator.unwrap_model(model).save_pretrained("final")
