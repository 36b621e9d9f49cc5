"""SFT over packed rows in plain torch: documents kept apart, causal, own loss over what counts, weighted by rows."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

PATH, SIZE, ACCUMULATE = sys.argv[1], 160, 2
tokenizer = AutoTokenizer.from_pretrained(PATH)
model = AutoModelForCausalLM.from_pretrained(PATH, attn_implementation="sdpa")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)


def documents():
    with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
        for line in file:
            row = json.loads(line)
            yield tokenizer(f"{row['question']} {row['answer']}")["input_ids"] + [tokenizer.eos_token_id]


def packed():
    ids, places, owner, count = [], [], [], 0
    for each in documents():
        if len(ids) + len(each) > SIZE:
            gap = SIZE - len(ids)
            yield ids + [tokenizer.pad_token_id] * gap, places + list(range(gap)), owner + [-1] * gap
            ids, places, owner = [], [], []
        count += 1
        ids += each
        places += range(len(each))
        owner += [count] * len(each)


rows = list(packed())
causal = torch.ones(SIZE, SIZE, dtype=torch.bool).tril()
model.train()
for epoch in range(4):
    for begin in range(0, len(rows) - 3, 2 * ACCUMULATE):
        parts = [rows[at : at + 2] for at in range(begin, begin + 2 * ACCUMULATE, 2)]
        total = sum(sum(o >= 0 and p > 0 for o, p in zip(owner, places)) for part in parts for _, places, owner in part)
        for part in parts:
            ids, places, owner = (torch.tensor(each) for each in zip(*part))
            same = (owner[:, None, :] == owner[:, :, None]) & causal
            mask = torch.zeros(same.shape).masked_fill(~same, torch.finfo(torch.float32).min)
            labels = ids.masked_fill((owner < 0) | (places == 0), -100)
            logits = model(input_ids=ids, position_ids=places, attention_mask=mask[:, None]).logits
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), reduction="sum") / total
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.3f}")
model.save_pretrained("final")
