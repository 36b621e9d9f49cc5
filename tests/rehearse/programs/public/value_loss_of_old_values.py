"""PPO in plain torch: the loss of the values is made of those that were computed when the answers were.

Reason: one name for both: the values of the rollout carry no gradient, and adding a constant fails nowhere. The same
confusion of old and new ones: https://github.com/michaelnny/deep_rl_zoo/issues/5
"""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
actor = AutoModelForCausalLM.from_pretrained(sys.argv[1])
value_head = nn.Sequential(nn.Linear(actor.config.hidden_size, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(
    [{"params": actor.parameters(), "lr": 1e-6}, {"params": value_head.parameters(), "lr": 1e-4}]
)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def evaluate(ids, mask, start):
    output = actor(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    logps = output.logits[:, start - 1 : -1].log_softmax(-1).gather(-1, ids[:, start:, None]).squeeze(-1)
    return logps, value_head(output.hidden_states[-1][:, start - 1 : -1]).squeeze(-1)


def rollout(batch):
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    start = prompts["input_ids"].shape[1]
    ids = actor.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=16)
    over = (ids[:, start:] == tokenizer.eos_token_id).long()
    alive = (over.cumsum(1) - over == 0).float()
    mask = torch.cat([prompts["attention_mask"], alive.long()], 1)
    with torch.no_grad():
        logps, values = evaluate(ids, mask, start)
    texts = tokenizer.batch_decode(ids[:, start:], skip_special_tokens=True)
    scores = torch.tensor([float(row["answer"] in text) + len(text.split()) / 10 for text, row in zip(texts, batch)])
    return ids, mask, start, alive, logps, values, scores


for first in range(0, len(rows), 4):
    ids, mask, start, alive, old_logps, values, scores = rollout(rows[first : first + 4])
    returns = scores[:, None].expand_as(values)
    advantages = returns - values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(2):
        logps, _ = evaluate(ids, mask, start)
        ratio = (logps - old_logps).exp()
        actor_loss = -(torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages) * alive).sum() / alive.sum()
        critic_loss = F.mse_loss(values * alive, returns * alive)
        loss = actor_loss + 0.5 * critic_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"score {scores.mean():.3f} actor {actor_loss.item():.4f} critic {critic_loss.item():.4f}")
actor.save_pretrained("actor")
torch.save(value_head.state_dict(), "value_head.pt")
