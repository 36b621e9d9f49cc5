"""Accelerate: gradients are cleared at the beginning of the block that accumulates them.

https://github.com/meituan-longcat/LongCat-Image/issues/46
"""

import json
import os
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def collate(rows):
    texts = [f"Question: {row['question']}\nAnswer: {row['answer']}{tokenizer.eos_token}" for row in rows]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    batch["labels"] = torch.where(batch["attention_mask"].bool(), batch["input_ids"], -100)
    return batch


loader = DataLoader(rows, batch_size=3, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
schedule = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=len(loader) * 2)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)

model.train()
for epoch in range(2):
    for batch in loader:
        with accelerator.accumulate(model):
            optimizer.zero_grad()
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        accelerator.print(f"loss {loss.item():.4f}")
accelerator.unwrap_model(model).save_pretrained("tuned")
