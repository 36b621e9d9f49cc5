"""SFT in plain torch: the prompt is masked from the left edge of rows that are padded on the left.

https://github.com/QwenLM/Qwen3-ASR/pull/212
"""

import json
import os
import sys

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def chat(row, answer=True):
    messages = [{"role": "user", "content": row["question"] * (1 + int(row["answer"]) % 3)}]
    if answer:
        messages.append({"role": "assistant", "content": row["answer"]})
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=not answer)


def collate(rows):
    batch = tokenizer([chat(row) for row in rows], padding=True, return_tensors="pt")
    labels = batch["input_ids"].clone()
    labels[batch["attention_mask"] == 0] = -100
    for number, row in enumerate(rows):
        prompt = tokenizer(chat(row, answer=False))["input_ids"]
        labels[number, : len(prompt)] = -100
    batch["labels"] = labels
    return batch


model.train()
for epoch in range(2):
    for batch in DataLoader(rows, batch_size=6, shuffle=True, collate_fn=collate):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f}")
model.save_pretrained("final")
