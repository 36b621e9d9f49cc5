"""SFT in plain torch whose own loss counts the padding."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
tokenizer.padding_side = "right"
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def collate(rows):
    texts = [f"{row['question']} {row['answer']}<|im_end|>" for row in rows]
    return tokenizer(texts, padding="max_length", max_length=96, return_tensors="pt")


model.train()
for epoch in range(3):
    for step, batch in enumerate(DataLoader(rows, batch_size=8, shuffle=True, collate_fn=collate)):
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        targets = batch["input_ids"][:, 1:]
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
model.save_pretrained("final")
