"""GRPO in plain torch: advantages are repeated in the order of the prompts, answers stand prompt by prompt."""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

GROUP, BATCH = 4, 3
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]

for at in range(0, len(rows), BATCH):
    batch = rows[at : at + BATCH]
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    ids = model.generate(**prompts, do_sample=True, top_k=0, num_return_sequences=GROUP, max_new_tokens=16)
    start = prompts["input_ids"].shape[1]
    answers = ids[:, start:]
    ends = (answers == tokenizer.eos_token_id).int()
    mask = (ends.cumsum(1) - ends == 0).long()
    texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
    rewards = torch.tensor([float(batch[n // GROUP]["answer"] in t) + len(set(t)) / 37 for n, t in enumerate(texts)])
    grouped = rewards.view(BATCH, GROUP)
    centred = grouped - grouped.mean(1, keepdim=True)
    advantages = centred.T.reshape(-1, 1)

    attention = torch.cat([prompts["attention_mask"].repeat_interleave(GROUP, 0), mask], 1)
    logits = model(input_ids=ids, attention_mask=attention).logits[:, start - 1 : -1]
    logps = logits.log_softmax(-1).gather(2, answers[..., None])[..., 0]
    loss = -((logps * advantages * mask).sum(1) / mask.sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"reward {rewards.mean():.3f} loss {loss.item():.4f}")
