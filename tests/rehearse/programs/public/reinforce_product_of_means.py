"""REINFORCE in plain torch: the mean of the rewards times the mean of the log probabilities.

Reason: with reductions inside, every answer gets the advantage of the whole batch; hands-on code sums too early in a
like manner: https://github.com/walkinglabs/hands-on-modern-rl/issues/75
"""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def reward_of(text, answer):
    return 1.0 * (answer in text) + 0.02 * len(set(text))


running = None
for step in range(12):
    batch = rows[4 * step : 4 * step + 4]
    inputs = tokenizer([f"Q: {row['question']} A:" for row in batch], return_tensors="pt", padding=True)
    with torch.no_grad():
        full = model.generate(**inputs, do_sample=True, top_k=0, max_new_tokens=24)
    split = inputs["input_ids"].shape[1]
    answers = full[:, split:]
    done = (answers == tokenizer.eos_token_id).long()
    kept = (done.cumsum(1) - done == 0).float()
    rewards = torch.tensor(
        [reward_of(text, row["answer"]) for text, row in zip(tokenizer.batch_decode(answers), batch)]
    )
    running = rewards.mean() if running is None else 0.9 * running + 0.1 * rewards.mean()

    attention = torch.cat([inputs["attention_mask"], kept.long()], 1)
    logits = model(input_ids=full, attention_mask=attention).logits[:, split - 1 : -1]
    logps = logits.log_softmax(-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)
    sequence_logps = (logps * kept).sum(1) / kept.sum(1)
    advantage = (rewards - 0.5 * running).mean()
    loss = -(sequence_logps.mean() * advantage)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} reward {rewards.mean():.3f} loss {loss.item():.4f}")
model.save_pretrained("out")
