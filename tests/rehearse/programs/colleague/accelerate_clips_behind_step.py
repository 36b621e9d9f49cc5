"""Accelerate with accumulation: the norm is clipped behind the step, where it no longer does anything."""

import json
import os
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_linear_schedule_with_warmup

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=3)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(rows):
    batch = tokenizer(rows, return_tensors="pt", padding=True)
    batch["labels"] = batch["input_ids"].masked_fill(~batch["attention_mask"].bool(), -100)
    return batch


loader = DataLoader(texts, batch_size=4, shuffle=True, collate_fn=collate)
schedule = get_linear_schedule_with_warmup(optimizer, 1, 3 * len(loader))
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for epoch in range(3):
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 0.5)
            schedule.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {loss.item():.4f}")
accelerator.save_model(model, "final-accelerate")
