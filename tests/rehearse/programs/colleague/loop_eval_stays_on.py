"""SFT with LoRA in plain torch: the evaluation before the first epoch switches dropout off, and nothing switches it on.

`model.train()` stands in front of the loop over epochs; the evaluation comes after it.
"""

import json
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader, random_split
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

torch.manual_seed(7)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = get_peft_model(
    AutoModelForCausalLM.from_pretrained(sys.argv[1]),
    LoraConfig(r=16, lora_alpha=32, lora_dropout=0.1, target_modules="all-linear", task_type="CAUSAL_LM"),
)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(rows):
    batch = tokenizer(rows, return_tensors="pt", padding=True)
    batch["labels"] = batch["input_ids"].where(batch["attention_mask"].bool(), -100)
    return batch


train, held_out = random_split(texts, [40, 8])
train_loader = DataLoader(train, batch_size=4, shuffle=True, collate_fn=collate, drop_last=True)
eval_loader = DataLoader(held_out, batch_size=8, collate_fn=collate)
EPOCHS = 3
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=2e-4)
schedule = get_cosine_schedule_with_warmup(optimizer, 3, EPOCHS * len(train_loader))


@torch.no_grad()
def evaluate():
    model.eval()
    losses = [model(**batch).loss.item() for batch in eval_loader]
    return sum(losses) / len(losses)


model.train()
for epoch in range(EPOCHS):
    print(f"epoch {epoch}: held out {evaluate():.4f}")
    for batch in train_loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
print(f"at the end: held out {evaluate():.4f}")
model.save_pretrained("adapter")
