"""DPO in plain torch: frozen reference, smoothing, a term that keeps the chosen answers, dropout."""

import copy
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], attention_dropout=0.1)
reference = copy.deepcopy(model).requires_grad_(False).eval()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))

with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    ROWS = [json.loads(line) for line in file]


def tokens(prompt, answer):
    head, tail = tokenizer(prompt)["input_ids"], tokenizer(answer)["input_ids"] + [tokenizer.eos_token_id]
    return head + tail, [-100] * len(head) + tail


def collate(rows):
    """Chosen rows first, then the rejected ones, in one batch."""
    made = [tokens(row["question"], f" {row['answer']}") for row in rows]
    made += [tokens(row["question"], f" {int(row['answer']) + 1} or so") for row in rows]
    longest = max(len(ids) for ids, _ in made)
    return {
        "input_ids": torch.tensor([ids + [tokenizer.pad_token_id] * (longest - len(ids)) for ids, _ in made]),
        "attention_mask": torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in made]),
        "labels": torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in made]),
    }


def logps(model, batch):
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
    labels = batch["labels"][:, 1:]
    each = -F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100, reduction="none")
    return each.sum(1), (labels != -100).sum(1)


model.train()
for batch in DataLoader(ROWS, batch_size=4, shuffle=True, collate_fn=collate):
    policy, lengths = logps(model, batch)
    with torch.no_grad():
        frozen, _ = logps(reference, batch)
    chosen, rejected = (policy - frozen).chunk(2)
    margin = 0.1 * (chosen - rejected)
    preference = -(0.9 * F.logsigmoid(margin) + 0.1 * F.logsigmoid(-margin))
    keeps = -(policy / lengths).chunk(2)[0]
    loss = (preference + 0.2 * keeps).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(loss.item())
model.save_pretrained("final")
