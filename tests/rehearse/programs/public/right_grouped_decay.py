"""SFT in plain torch: groups with and without decay, the embedding frozen on purpose, an average beside."""

import json
import os
import sys

import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
model.get_input_embeddings().requires_grad_(False)
trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(
    [
        {"params": [p for _, p in trained if p.ndim >= 2], "weight_decay": 0.1},
        {"params": [p for _, p in trained if p.ndim < 2], "weight_decay": 0.0},
    ],
    lr=1e-5,
)
average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
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
        average.update_parameters(model)
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.save_pretrained("final")
torch.save(average.module.state_dict(), "average.pt")
