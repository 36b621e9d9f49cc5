"""SFT in plain torch: two groups of parameters by name, of which the second is never handed over.

https://github.com/huggingface/transformers/issues/11160
"""

import json
import os
import sys

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
no_decay = ["bias", "norm.weight", "layernorm.weight"]
optimizer = torch.optim.AdamW(
    [
        {
            "params": [p for n, p in model.named_parameters() if not any(each in n for each in no_decay)],
            "weight_decay": 0.1,
        },
    ],
    lr=1e-5,
)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(texts):
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


model.train()
for epoch in range(3):
    for batch in DataLoader(texts, batch_size=4, shuffle=True, collate_fn=collate):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.save_pretrained("final")
