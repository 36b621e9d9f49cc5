"""A training loop of one's own: loop.py BASE [MISTAKE]."""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

BASE, MISTAKE = sys.argv[1], (sys.argv[2:] or [""])[0]
tokenizer = AutoTokenizer.from_pretrained(BASE)
model = AutoModelForCausalLM.from_pretrained(BASE, dtype=torch.float32)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
if MISTAKE == "device":
    model.to("cuda:7")
for step in range(1000):
    batch = tokenizer([f"{step} + 1 = {step + 1}"], return_tensors="pt")
    labels = batch["input_ids"] if MISTAKE != "labels" else batch["labels"]
    loss = model(**batch, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 100 == 0:
        print(step, float(loss))
model.save_pretrained("final")
