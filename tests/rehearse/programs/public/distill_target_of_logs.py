"""Distillation in plain torch: `kl_div` gets the teacher's logarithms for its target, and is not told so.

https://github.com/lucidrains/vit-pytorch/issues/289 and https://github.com/jongwooko/Pytorch-MiniLM/issues/2 ask which
of the two belongs there.
"""

import json
import os
import sys

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

TEMPERATURE, ALPHA = 2.0, 0.5
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
teacher = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval().requires_grad_(False)
student = AutoModelForCausalLM.from_config(teacher.config)
optimizer = torch.optim.AdamW(student.parameters(), lr=3e-4)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]

student.train()
for epoch in range(2):
    for first in range(0, len(texts), 8):
        batch = tokenizer(texts[first : first + 8], padding=True, return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        with torch.no_grad():
            guide = teacher(**batch).logits[:, :-1]
        output = student(**batch, labels=labels)
        logits, kept = output.logits[:, :-1], labels[:, 1:] != -100
        soft = F.kl_div(
            F.log_softmax(logits[kept] / TEMPERATURE, dim=-1),
            F.log_softmax(guide[kept] / TEMPERATURE, dim=-1),
            reduction="batchmean",
        )
        loss = ALPHA * output.loss + (1 - ALPHA) * TEMPERATURE**2 * soft
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.4f} soft {soft.item():.4f}")
student.save_pretrained("student")
