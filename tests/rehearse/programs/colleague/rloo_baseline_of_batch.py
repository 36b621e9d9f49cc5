"""REINFORCE with the mean of the others for a baseline: of all others in the batch, those of another prompt too."""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

K = 4
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]

for at in range(0, len(rows), 2):
    batch = rows[at : at + 2]
    asked = [f"{row['question']} =" for row in batch for _ in range(K)]
    prompts = tokenizer(asked, padding=True, return_tensors="pt")
    ids = model.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=12)
    start = prompts["input_ids"].shape[1]
    texts = tokenizer.batch_decode(ids[:, start:])
    scores = torch.tensor([float(batch[n // K]["answer"] in t) + len(set(t)) / 41 for n, t in enumerate(texts)])
    others = (scores.sum() - scores) / (len(scores) - 1)
    advantages = scores - others

    answers = ids[:, start:]
    ends = (answers == tokenizer.eos_token_id).int()
    mask = (ends.cumsum(1) - ends == 0).long()
    attention = torch.cat([prompts["attention_mask"], mask], 1)
    logits = model(input_ids=ids, attention_mask=attention).logits[:, start - 1 : -1]
    logps = (logits.log_softmax(-1).gather(2, answers[..., None])[..., 0] * mask).sum(1)
    loss = -(advantages * logps).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"score {scores.mean():.3f} loss {loss.item():.4f}")
model.save_pretrained("rloo-own")
