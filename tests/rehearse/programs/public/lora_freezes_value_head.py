"""PPO with LoRA: the head for values is made before the adapter, which freezes all that it does not add.

https://github.com/RLinf/RLinf/pull/37
"""

import json
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]

policy = AutoModelForCausalLM.from_pretrained(sys.argv[1])
policy.value_head = nn.Linear(policy.config.hidden_size, 1)
policy = get_peft_model(policy, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]))
policy.print_trainable_parameters()
optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, policy.parameters()), lr=1e-5)


def forward(ids, mask, start):
    output = policy(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    logps = output.logits[:, start - 1 : -1].log_softmax(-1).gather(-1, ids[:, start:, None]).squeeze(-1)
    values = policy.base_model.model.value_head(output.hidden_states[-1][:, start - 1 : -1]).squeeze(-1)
    return logps, values


def collect(batch):
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    start = prompts["input_ids"].shape[1]
    with torch.no_grad():
        ids = policy.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=20)
        ended = (ids[:, start:] == tokenizer.eos_token_id).long()
        alive = (ended.cumsum(1) - ended == 0).long()
        mask = torch.cat([prompts["attention_mask"], alive], 1)
        old, values = forward(ids, mask, start)
    texts = tokenizer.batch_decode(ids[:, start:], skip_special_tokens=True)
    scores = torch.tensor([len(set(text)) / 10 + float(row["answer"] in text) for text, row in zip(texts, batch)])
    returns = scores[:, None].expand_as(values) * alive
    advantages = (returns - values) * alive
    kept = advantages[alive.bool()]
    return ids, mask, start, alive, old, returns, (advantages - kept.mean()) / (kept.std() + 1e-8), scores


for first in range(0, len(rows), 4):
    ids, mask, start, alive, old, returns, advantages, scores = collect(rows[first : first + 4])
    for _ in range(2):
        logps, values = forward(ids, mask, start)
        ratio = (logps - old).exp()
        clipped = ratio.clamp(0.8, 1.2)
        policy_loss = -(torch.min(ratio * advantages, clipped * advantages) * alive).sum() / alive.sum()
        value_loss = (((values - returns) ** 2) * alive).sum() / alive.sum()
        loss = policy_loss + 0.5 * value_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    print(f"score {scores.mean():.3f} policy {policy_loss.item():.4f} value {value_loss.item():.4f}")
policy.save_pretrained("adapter")
