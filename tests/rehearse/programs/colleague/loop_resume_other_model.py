"""A loop that resumes: the model is loaded again from the checkpoint behind the optimizer, which keeps the first one.

The first start is well. From the second on, what is saved is never trained.
"""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

CHECKPOINT = "checkpoint-last"
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
first = 0
if os.path.isdir(CHECKPOINT):
    state = torch.load(os.path.join(CHECKPOINT, "training.pt"))
    model = AutoModelForCausalLM.from_pretrained(CHECKPOINT)
    optimizer.load_state_dict(state["optimizer"])
    first = state["step"]
    print(f"resuming behind step {first}")
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]

model.train()
for step in range(first, 60):
    at = step * 4 % len(texts)
    batch = tokenizer(texts[at : at + 4], padding=True, return_tensors="pt")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    loss = model(**batch, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.4f}")
    model.save_pretrained(CHECKPOINT)
    torch.save({"optimizer": optimizer.state_dict(), "step": step + 1}, os.path.join(CHECKPOINT, "training.pt"))
model.save_pretrained("final")
