"""Distillation with a contrastive term in plain torch: a row's loss depends on the other rows, as it should."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

T = 2.0
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
teacher = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval().requires_grad_(False)
student = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(sys.argv[1]))
for each in student.get_input_embeddings().parameters():
    each.requires_grad_(False)
optimizer = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=1e-4)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}" for row in map(json.loads, file)]


def pooled(hidden, mask):
    return F.normalize((hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True), dim=-1)


student.train()
for batch in DataLoader(texts, batch_size=8, collate_fn=lambda x: tokenizer(x, padding=True, return_tensors="pt")):
    mask = batch["attention_mask"]
    with torch.no_grad():
        theirs = teacher(**batch, output_hidden_states=True)
    ours = student(**batch, output_hidden_states=True)
    soft = F.log_softmax(ours.logits / T, dim=-1)
    target = F.softmax(theirs.logits / T, dim=-1)
    each = F.kl_div(soft, target, reduction="none").sum(-1)
    distill = (each * mask).sum() / mask.sum() * T * T
    scores = pooled(ours.hidden_states[-1], mask) @ pooled(theirs.hidden_states[-1], mask).T / 0.07
    contrast = F.cross_entropy(scores, torch.arange(len(scores)))
    loss = distill + 0.1 * contrast
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
student.save_pretrained("student")
