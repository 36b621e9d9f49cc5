"""A loop that reads its settings from YAML, where 2e-5 without a point is text.

https://github.com/hiyouga/LlamaFactory/issues/4149, https://github.com/huggingface/trl/pull/1450
"""

import json
import os
import sys

import torch
import yaml
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

CONFIG = yaml.safe_load(
    """
model:
  max_length: 64
training:
  batch_size: 4
  epochs: 2
  learning_rate: 2e-5
  weight_decay: 0.01
"""
)
training = CONFIG["training"]
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(texts):
    batch = tokenizer(
        texts, padding=True, truncation=True, max_length=CONFIG["model"]["max_length"], return_tensors="pt"
    )
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=training["learning_rate"], weight_decay=training["weight_decay"])
for epoch in range(training["epochs"]):
    for batch in DataLoader(texts, batch_size=training["batch_size"], shuffle=True, collate_fn=collate):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(epoch, loss.item())
