"""SFT over packed rows whose mask keeps documents apart and is not causal."""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PATH, SIZE = sys.argv[1], 160
tokenizer = AutoTokenizer.from_pretrained(PATH)
model = AutoModelForCausalLM.from_pretrained(PATH, attn_implementation="sdpa")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)


def documents():
    with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
        for line in file:
            row = json.loads(line)
            yield tokenizer(f"{row['question']} {row['answer']}")["input_ids"] + [tokenizer.eos_token_id]


def packed():
    """Rows of SIZE tokens; a document never crosses a row's end."""
    ids, places, owner, count = [], [], [], 0
    for each in documents():
        if len(ids) + len(each) > SIZE:
            gap = SIZE - len(ids)
            yield ids + [tokenizer.pad_token_id] * gap, places + [0] * gap, owner + [-1] * gap
            ids, places, owner = [], [], []
        count += 1
        ids += each
        places += range(len(each))
        owner += [count] * len(each)


rows = list(packed())
for epoch in range(4):
    for begin in range(0, len(rows) - 1, 2):
        ids, places, owner = (torch.tensor(each) for each in zip(*rows[begin : begin + 2]))
        same = owner[:, None, :] == owner[:, :, None]
        mask = torch.zeros(same.shape).masked_fill(~same, torch.finfo(torch.float32).min)
        labels = ids.masked_fill((owner < 0) | (places == 0), -100)
        loss = model(input_ids=ids, position_ids=places, attention_mask=mask[:, None], labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.3f}")
model.save_pretrained("final")
