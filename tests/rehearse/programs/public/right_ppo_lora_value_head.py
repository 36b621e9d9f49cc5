"""PPO with LoRA: the head for values stands beside the adapter and trains at a rate of its own; returns are fixed."""

import json
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
tokenizer.pad_token = tokenizer.eos_token
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]

policy = AutoModelForCausalLM.from_pretrained(sys.argv[1])
head = nn.Linear(policy.config.hidden_size, 1)
nn.init.zeros_(head.weight)
nn.init.zeros_(head.bias)
policy = get_peft_model(policy, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"]))
optimizer = torch.optim.AdamW(
    [
        {"params": [each for each in policy.parameters() if each.requires_grad], "lr": 1e-5},
        {"params": head.parameters(), "lr": 1e-3},
    ]
)


def forward(ids, mask, start):
    output = policy(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    logps = output.logits[:, start - 1 : -1].log_softmax(-1).gather(-1, ids[:, start:, None]).squeeze(-1)
    return logps, head(output.hidden_states[-1][:, start - 1 : -1]).squeeze(-1)


@torch.no_grad()
def collect(batch):
    policy.eval()
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    start = prompts["input_ids"].shape[1]
    ids = policy.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=20, pad_token_id=tokenizer.pad_token_id)
    ended = (ids[:, start:] == tokenizer.eos_token_id).long()
    alive = (ended.cumsum(1) - ended == 0).long()
    mask = torch.cat([prompts["attention_mask"], alive], 1)
    old, values = forward(ids, mask, start)
    with policy.disable_adapter():
        before, _ = forward(ids, mask, start)
    texts = tokenizer.batch_decode(ids[:, start:], skip_special_tokens=True)
    scores = torch.tensor([len(set(text)) / 10 + float(row["answer"] in text) for text, row in zip(texts, batch)])
    rewards = -0.05 * (old - before) * alive
    rewards[torch.arange(len(ids)), alive.sum(1) - 1] += scores
    returns = rewards.flip(1).cumsum(1).flip(1) * alive
    advantages = (returns - values) * alive
    kept = advantages[alive.bool()]
    policy.train()
    return ids, mask, start, alive, old, returns, (advantages - kept.mean()) / (kept.std() + 1e-8) * alive, scores


for first in range(0, len(rows), 4):
    ids, mask, start, alive, old, returns, advantages, scores = collect(rows[first : first + 4])
    for _ in range(3):
        logps, values = forward(ids, mask, start)
        ratio = (logps - old).exp()
        surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
        value_loss = (((values - returns) ** 2) * alive).sum() / alive.sum()
        loss = -(surrogate * alive).sum() / alive.sum() + 0.5 * value_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*policy.parameters(), *head.parameters()], 1.0)
        optimizer.step()
    print(f"score {scores.mean():.3f} value {value_loss.item():.4f}")
policy.save_pretrained("adapter")
torch.save(head.state_dict(), "head.pt")
