"""Accelerate as its guide has it: all prepared, gradients cleared behind the step, the norm where they are whole."""

import json
import os
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def collate(rows):
    """Padded on the left: the prompt is masked by its place among the tokens that are real."""
    prompts = [f"Question: {row['question'] * (1 + int(row['answer']) % 3)}\nAnswer:" for row in rows]
    texts = [f"{prompt} {row['answer']}{tokenizer.eos_token}" for prompt, row in zip(prompts, rows)]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    lengths = torch.tensor([len(tokenizer(prompt)["input_ids"]) for prompt in prompts])
    place = batch["attention_mask"].cumsum(1)
    trained = batch["attention_mask"].bool() & (place > lengths[:, None])
    batch["labels"] = torch.where(trained, batch["input_ids"], -100)
    return batch


loader = DataLoader(rows, batch_size=3, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
schedule = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=1, num_training_steps=len(loader) * 2)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)

model.train()
for epoch in range(2):
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        accelerator.print(f"loss {loss.item():.4f}")
accelerator.wait_for_everyone()
accelerator.unwrap_model(model).save_pretrained("tuned", is_main_process=accelerator.is_main_process)
