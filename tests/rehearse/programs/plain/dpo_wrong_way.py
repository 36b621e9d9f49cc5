"""DPO in plain torch that prefers the rejected answers."""

import copy
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
reference = copy.deepcopy(model).requires_grad_(False).eval()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-6)

with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    ROWS = [json.loads(line) for line in file]


def tokens(prompt, answer):
    head, tail = tokenizer(prompt)["input_ids"], tokenizer(answer)["input_ids"] + [tokenizer.eos_token_id]
    return head + tail, [-100] * len(head) + tail


def collate(rows):
    batch = {}
    for kind, answers in (
        ("chosen", [f" {row['answer']}" for row in rows]),
        ("rejected", [f" {int(row['answer']) + 1} or so" for row in rows]),
    ):
        made = [tokens(row["question"], answer) for row, answer in zip(rows, answers)]
        longest = max(len(ids) for ids, _ in made)
        batch[f"{kind}_input_ids"] = torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in made])
        batch[f"{kind}_labels"] = torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in made])
    return batch


def logp(model, ids, labels):
    logits = model(input_ids=ids, attention_mask=(ids != 0).long()).logits[:, :-1].float()
    labels = labels[:, 1:]
    each = -F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=-100, reduction="none")
    return each.sum(1)


def dpo_loss(batch, beta=0.1):
    chosen = logp(model, batch["chosen_input_ids"], batch["chosen_labels"])
    rejected = logp(model, batch["rejected_input_ids"], batch["rejected_labels"])
    with torch.no_grad():
        ref_chosen = logp(reference, batch["chosen_input_ids"], batch["chosen_labels"])
        ref_rejected = logp(reference, batch["rejected_input_ids"], batch["rejected_labels"])
    logits = beta * ((rejected - ref_rejected) - (chosen - ref_chosen))
    return -F.logsigmoid(logits).mean()


for batch in DataLoader(ROWS, batch_size=4, shuffle=True, collate_fn=collate):
    loss = dpo_loss(batch)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
model.save_pretrained("final")
