"""A loop with DeepSpeed in which the engine divides by the number of parts; the loss is told as it is."""

import json
import os
import sys

import deepspeed
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

ACCUMULATION = 4
CONFIG = {
    "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": ACCUMULATION,
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 2},
    "zero_allow_untested_optimizer": True,
}
deepspeed.init_distributed(dist_backend="gloo")
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    texts = [f"{row['question']} {row['answer']}{tokenizer.eos_token}" for row in map(json.loads, file)]


def collate(rows):
    batch = tokenizer(rows, padding=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch


engine, _, _, _ = deepspeed.initialize(
    model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-5), config=CONFIG
)
sampler = torch.utils.data.DistributedSampler(texts, shuffle=True)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for batch in DataLoader(texts, batch_size=2, sampler=sampler, collate_fn=collate):
        loss = engine(**batch.to(engine.device)).loss
        engine.backward(loss)
        engine.step()
    if engine.global_rank == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")
engine.save_checkpoint("ds-right")
