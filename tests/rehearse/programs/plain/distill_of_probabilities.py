"""Distillation in plain torch that hands kl_div probabilities."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

T = 2.0
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
teacher = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
student = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(sys.argv[1]))
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}" for row in map(json.loads, file)]

student.train()
for batch in DataLoader(texts, batch_size=8, collate_fn=lambda x: tokenizer(x, padding=True, return_tensors="pt")):
    with torch.no_grad():
        teacher_logits = teacher(**batch).logits
    student_logits = student(**batch).logits
    soft_targets = F.softmax(teacher_logits / T, dim=-1)
    soft_student = F.softmax(student_logits / T, dim=-1)
    each = F.kl_div(soft_student, soft_targets, reduction="none").sum(-1)
    loss = (each * batch["attention_mask"]).sum() / batch["attention_mask"].sum() * T * T
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
student.save_pretrained("student")
