"""DPO with LoRA in plain torch: the reference is the same model, and its adapter is not switched off.

https://github.com/NVIDIA/NeMo-Aligner/pull/142, https://github.com/huggingface/trl/issues/701
"""

import json
import os
import sys

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

BETA = 0.1
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
base = AutoModelForCausalLM.from_pretrained(sys.argv[1])
model = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj", "gate_proj"]))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-5)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def encode(rows, answers):
    """Ids, mask of the tokens that are real, mask of the answers."""
    prompts = [tokenizer(row["question"])["input_ids"] for row in rows]
    bodies = [tokenizer(answer)["input_ids"] + [tokenizer.eos_token_id] for answer in answers]
    width = max(len(p) + len(b) for p, b in zip(prompts, bodies))
    ids, real, answer = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(3))
    for number, (prompt, body) in enumerate(zip(prompts, bodies)):
        size = len(prompt) + len(body)
        ids[number, :size] = torch.tensor(prompt + body)
        real[number, :size] = 1
        answer[number, len(prompt) : size] = 1
    return ids, real, answer


def log_probability(ids, real, answer):
    logits = model(input_ids=ids, attention_mask=real).logits[:, :-1]
    taken = logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (taken * answer[:, 1:]).sum(1)


model.train()
for epoch in range(2):
    for batch in DataLoader(rows, batch_size=4, shuffle=True, collate_fn=list):
        good = encode(batch, [f" It is {row['answer']}." for row in batch])
        bad = encode(batch, [" I do not know that." for _ in batch])
        with torch.no_grad():
            reference_good, reference_bad = log_probability(*good), log_probability(*bad)
        margin = (log_probability(*good) - reference_good) - (log_probability(*bad) - reference_bad)
        loss = -F.logsigmoid(BETA * margin).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.4f} margin {margin.mean().item():.4f}")
model.save_pretrained("adapter")
