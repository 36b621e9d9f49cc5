"""SFT in plain torch that clears its gradients before each part of a batch."""

import json
import os
import sys

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_linear_schedule_with_warmup

ACCUMULATE = 4
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def collate(rows):
    batch = tokenizer([f"{r['question']} {r['answer']}<|im_end|>" for r in rows], padding=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


loader = DataLoader(rows, batch_size=2, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
scheduler = get_linear_schedule_with_warmup(optimizer, 2, len(loader) // ACCUMULATE * 3)
model.train()
for epoch in range(3):
    for number, batch in enumerate(loader):
        optimizer.zero_grad()
        loss = model(**batch).loss / ACCUMULATE
        loss.backward()
        if (number + 1) % ACCUMULATE == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            print(f"step {number} loss {loss.item() * ACCUMULATE:.4f}")
model.save_pretrained("final")
