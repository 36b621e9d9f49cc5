"""Accelerate in several processes: the loader is not prepared, so that all of them train on the same rows.

Reason: people prepare model and optimizer alone, and nothing fails:
https://github.com/huggingface/accelerate/issues/2882 has calls of `prepare` for parts.
"""

import json
import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

set_seed(42)
accelerator = Accelerator(cpu=True)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(texts):
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


loader = DataLoader(texts, batch_size=4, shuffle=True, collate_fn=collate)
model, optimizer = accelerator.prepare(model, optimizer)
model.train()
for epoch in range(2):
    for batch in loader:
        loss = model(**batch.to(accelerator.device)).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.print(f"epoch {epoch} loss {loss.item():.4f}")
accelerator.wait_for_everyone()
if accelerator.is_main_process:
    accelerator.unwrap_model(model).save_pretrained("final")
