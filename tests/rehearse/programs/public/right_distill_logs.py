"""Distillation in plain torch: both sides are logarithms and `kl_div` is told; the loss of the tokens beside it."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

TEMPERATURE, ALPHA, PARTS = 2.0, 0.5, 2
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
teacher = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval().requires_grad_(False)
student = AutoModelForCausalLM.from_config(teacher.config)
optimizer = torch.optim.AdamW(student.parameters(), lr=3e-4)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def batches():
    for first in range(0, len(texts), 8):
        batch = tokenizer(texts[first : first + 8], padding=True, return_tensors="pt")
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        yield batch


student.train()
for epoch in range(2):
    for number, batch in enumerate(batches()):
        labels = batch["labels"]
        with torch.no_grad():
            guide = teacher(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, :-1]
        output = student(**batch)
        logits, kept = output.logits[:, :-1], labels[:, 1:] != -100
        soft = F.kl_div(
            F.log_softmax(logits[kept] / TEMPERATURE, dim=-1),
            F.log_softmax(guide[kept] / TEMPERATURE, dim=-1),
            reduction="batchmean",
            log_target=True,
        )
        loss = ALPHA * output.loss + (1 - ALPHA) * TEMPERATURE**2 * soft
        (loss / PARTS).backward()
        if (number + 1) % PARTS == 0:
            optimizer.step()
            optimizer.zero_grad()
        print(f"loss {loss.item():.4f} soft {soft.item():.4f}")
student.save_pretrained("student")
