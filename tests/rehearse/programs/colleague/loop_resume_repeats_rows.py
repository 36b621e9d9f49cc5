"""A loop that resumes weights, optimizer and step, but draws its rows anew with the same seed: the first come again."""

import json
import os
import random
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

SAVED = "loop.pt"
torch.manual_seed(5)
order = random.Random(5)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
done = 0
if os.path.isfile(SAVED):
    saved = torch.load(SAVED)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    done = saved["step"]
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]
model.train()
for step in range(done, 50):
    batch = tokenizer(order.sample(texts, 4), padding=True, return_tensors="pt")
    loss = model(**batch, labels=batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, SAVED)
    print(f"step {step} loss {loss.item():.4f}")
