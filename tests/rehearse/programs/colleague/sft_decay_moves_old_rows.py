"""SFT on new tokens alone: the gradient of the old rows is set to 0, and AdamW's decay moves them all the same."""

import json
import os
import sys

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
old = len(tokenizer)
tokenizer.add_tokens(["<sum>", "</sum>"])
model.resize_token_embeddings(len(tokenizer))
model.requires_grad_(False)
table = model.get_input_embeddings().weight.requires_grad_(True)


def only_new(gradient):
    gradient = gradient.clone()
    gradient[:old] = 0
    return gradient


table.register_hook(only_new)
optimizer = torch.optim.AdamW([table], lr=1e-3, weight_decay=0.1)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} <sum>{row['answer']}</sum>{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(rows):
    batch = tokenizer(rows, padding=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


for epoch in range(3):
    for batch in DataLoader(texts, batch_size=8, shuffle=True, collate_fn=collate):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.save_pretrained("with-tokens")
