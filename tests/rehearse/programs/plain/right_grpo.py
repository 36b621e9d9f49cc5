"""GRPO in plain torch: groups of a prompt, two inner steps, clipped above further than below, a penalty."""

import copy
import json
import os
import re
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

GROUP, PROMPTS, BETA = 4, 2, 0.04
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
ref = copy.deepcopy(model).eval()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, betas=(0.9, 0.99))
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    dataset = [json.loads(line) for line in file]


def score(text, answer):
    found = re.findall(r"\d+", text)
    return float(bool(found)) * 0.2 + float(answer in found) + 0.01 * len(set(text))


def per_token(net, ids, mask, size):
    logits = net(input_ids=ids, attention_mask=mask).logits[:, -size - 1 : -1]
    return torch.log_softmax(logits, dim=-1).gather(2, ids[:, -size:, None])[..., 0]


for i in range(0, len(dataset), PROMPTS):
    rows = dataset[i : i + PROMPTS]
    enc = tokenizer([r["question"] for r in rows], return_tensors="pt", padding=True)
    out = model.generate(**enc, do_sample=True, top_k=0, num_return_sequences=GROUP, max_new_tokens=24)
    size = out.size(1) - enc["input_ids"].size(1)
    texts = tokenizer.batch_decode(out[:, -size:], skip_special_tokens=True)
    rewards = torch.tensor([score(t, rows[k // GROUP]["answer"]) for k, t in enumerate(texts)])
    grouped = rewards.view(PROMPTS, GROUP)
    adv = ((grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)).view(-1)

    is_eos = (out[:, -size:] == tokenizer.eos_token_id).long()
    comp_mask = (is_eos.cumsum(1) - is_eos == 0).long()
    mask = torch.cat([enc["attention_mask"].repeat_interleave(GROUP, 0), comp_mask], 1)
    with torch.no_grad():
        old, ref_logps = per_token(model, out, mask, size), per_token(ref, out, mask, size)
    for _ in range(2):
        logps = per_token(model, out, mask, size)
        ratio = (logps - old).exp()
        surrogate = torch.min(ratio * adv[:, None], ratio.clamp(0.8, 1.28) * adv[:, None])
        kl = (ref_logps - logps).exp() - (ref_logps - logps) - 1
        loss = -(((surrogate - BETA * kl) * comp_mask).sum() / comp_mask.sum())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"reward {rewards.mean():.3f} kl {kl.mean().item():.4f}")
model.save_pretrained("final")
