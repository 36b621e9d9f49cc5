"""REINFORCE with the mean of the other answers for a baseline, the divergence subtracted from the score."""

import copy
import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

KL_COEF, GROUP = 0.05, 4
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
policy = AutoModelForCausalLM.from_pretrained(sys.argv[1])
reference = copy.deepcopy(policy).eval().requires_grad_(False)
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def answer_logps(model, ids, mask, start):
    logits = model(input_ids=ids, attention_mask=mask).logits[:, start - 1 : -1]
    return logits.log_softmax(-1).gather(-1, ids[:, start:].unsqueeze(-1)).squeeze(-1)


def score(text, answer):
    return float(answer in text) + len(set(text)) / 50


for first in range(0, len(rows), 2):
    batch = [row for row in rows[first : first + 2] for _ in range(GROUP)]
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    start = prompts["input_ids"].shape[1]
    with torch.no_grad():
        ids = policy.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=20)
        ends = (ids[:, start:] == tokenizer.eos_token_id).long()
        alive = (ends.cumsum(1) - ends == 0).float()
        mask = torch.cat([prompts["attention_mask"], alive.long()], 1)
        before = answer_logps(reference, ids, mask, start)
    texts = tokenizer.batch_decode(ids[:, start:], skip_special_tokens=True)
    scores = torch.tensor([score(text, row["answer"]) for text, row in zip(texts, batch)])
    logps = answer_logps(policy, ids, mask, start)
    kl = ((logps.detach() - before) * alive).sum(1)
    rewards = (scores - KL_COEF * kl).view(-1, GROUP)
    others = (rewards.sum(1, keepdim=True) - rewards) / (GROUP - 1)
    advantages = (rewards - others).flatten()
    loss = -(advantages * (logps * alive).sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    print(f"score {scores.mean():.3f} kl {kl.mean():.4f}")
policy.save_pretrained("policy")
