"""GRPO in plain torch: the divergence from the reference is computed without a gradient, and holds nothing back."""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

BETA, GROUP, BATCH = 0.1, 4, 2
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
reference = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def logps_of(net, ids, mask, start):
    logits = net(input_ids=ids, attention_mask=mask).logits[:, start - 1 : -1]
    return logits.log_softmax(-1).gather(2, ids[:, start:, None])[..., 0]


@torch.no_grad()
def divergence(ids, mask, start):
    difference = logps_of(reference, ids, mask, start) - logps_of(model, ids, mask, start)
    return difference.exp() - difference - 1


for at in range(0, len(rows), BATCH):
    batch = rows[at : at + BATCH]
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    ids = model.generate(**prompts, do_sample=True, top_k=0, num_return_sequences=GROUP, max_new_tokens=20)
    start = prompts["input_ids"].shape[1]
    answers = ids[:, start:]
    ends = (answers == tokenizer.eos_token_id).int()
    mask = (ends.cumsum(1) - ends == 0).long()
    texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
    rewards = torch.tensor([float(batch[n // GROUP]["answer"] in t) + len(set(t)) / 30 for n, t in enumerate(texts)])
    grouped = rewards.view(BATCH, GROUP)
    advantages = ((grouped - grouped.mean(1, True)) / (grouped.std(1, keepdim=True) + 1e-4)).view(-1, 1)

    attention = torch.cat([prompts["attention_mask"].repeat_interleave(GROUP, 0), mask], 1)
    kl = divergence(ids, attention, start)
    for _ in range(3):
        logps = logps_of(model, ids, attention, start)
        ratio = (logps - logps.detach()).exp()
        loss = ((BETA * kl - ratio * advantages) * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"reward {rewards.mean():.3f} kl {kl.mean():.5f}")
model.save_pretrained("grpo")
