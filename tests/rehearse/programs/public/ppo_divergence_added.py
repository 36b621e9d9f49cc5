"""REINFORCE with a baseline: the divergence from the reference is added to the score.

https://github.com/nebuly-ai/optimate/issues/298, https://github.com/huggingface/blog/pull/1208
"""

import copy
import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

KL_COEF = 0.05
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


baseline = 0.0
for first in range(0, len(rows), 6):
    batch = rows[first : first + 6]
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    start = prompts["input_ids"].shape[1]
    with torch.no_grad():
        ids = policy.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=20)
        ends = (ids[:, start:] == tokenizer.eos_token_id).long()
        alive = (ends.cumsum(1) - ends == 0).float()
        mask = torch.cat([prompts["attention_mask"], alive.long()], 1)
        before = answer_logps(reference, ids, mask, start)
    scores = torch.tensor(
        [score(text, row["answer"]) for text, row in zip(tokenizer.batch_decode(ids[:, start:]), batch)]
    )
    logps = answer_logps(policy, ids, mask, start)
    kl = ((logps.detach() - before) * alive).sum(1)
    rewards = scores + KL_COEF * kl
    baseline = 0.9 * baseline + 0.1 * rewards.mean().item()
    loss = -((rewards - baseline)[:, None] * logps * alive).sum() / alive.sum()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    print(f"score {scores.mean():.3f} kl {kl.mean():.4f}")
policy.save_pretrained("policy")
