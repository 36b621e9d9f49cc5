"""A loop that resumes whole: weights, optimizer, schedule, place in the data, generators; an average for evaluation."""

import copy
import json
import os
import random
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

STATE, STEPS = "state.pt", 40
random.seed(11)
torch.manual_seed(11)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-5, total_steps=STEPS)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]
held, texts = texts[:4], texts[4:]
first = 0
if os.path.exists(STATE):
    state = torch.load(STATE, weights_only=False)
    model.load_state_dict(state["model"])
    average.load_state_dict(state["average"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    random.setstate(state["python"])
    torch.set_rng_state(state["torch"])
    first = state["step"]


def batch_of(rows):
    batch = tokenizer(rows, padding=True, return_tensors="pt")
    return {**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}


for step in range(first, STEPS):
    loss = model(**batch_of(random.sample(texts, 4))).loss
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for mean, now in zip(average.parameters(), model.parameters()):
            mean.lerp_(now, 0.1)
        print(f"step {step} loss {loss.item():.4f} norm {norm:.2f} held {average(**batch_of(held)).loss.item():.4f}")
    torch.save(
        {
            "model": model.state_dict(),
            "average": average.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "python": random.getstate(),
            "torch": torch.get_rng_state(),
            "step": step + 1,
        },
        STATE,
    )
average.save_pretrained("averaged")
