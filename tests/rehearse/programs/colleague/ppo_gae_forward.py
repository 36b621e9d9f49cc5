"""PPO in plain torch: advantages are accumulated from the first token to the last, so that credit flows forward.

The sum of discounted differences has to run backwards; here the last token's reward reaches no token before it.
"""

import json
import os
import sys

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

GAMMA, LAMBDA = 1.0, 0.95


class ActorCritic(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.actor = AutoModelForCausalLM.from_pretrained(name)
        self.critic = nn.Linear(self.actor.config.hidden_size, 1)

    def forward(self, ids, mask):
        out = self.actor(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        return out.logits, self.critic(out.hidden_states[-1])[..., 0]


tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
net = ActorCritic(sys.argv[1])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-5)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def advantages_of(rewards, values):
    running = torch.zeros(len(values))
    found = []
    for at in range(values.shape[1]):
        following = values[:, at + 1] if at + 1 < values.shape[1] else torch.zeros(len(values))
        difference = rewards[:, at] + GAMMA * following - values[:, at]
        running = difference + GAMMA * LAMBDA * running
        found.append(running)
    return torch.stack(found, 1)


for at in range(0, len(rows), 4):
    batch = rows[at : at + 4]
    prompts = tokenizer([row["question"] for row in batch], padding=True, return_tensors="pt")
    ids = net.actor.generate(**prompts, do_sample=True, top_k=0, max_new_tokens=16, min_new_tokens=16)
    size = ids.shape[1] - prompts["input_ids"].shape[1]
    mask = torch.cat([prompts["attention_mask"], torch.ones(len(ids), size, dtype=torch.long)], 1)
    answers = ids[:, -size:]
    texts = tokenizer.batch_decode(answers)
    rewards = torch.zeros(len(ids), size)
    rewards[:, -1] = torch.tensor([float(row["answer"] in text) + len(text) / 100 for row, text in zip(batch, texts)])
    with torch.no_grad():
        logits, values = net(ids, mask)
        values = values[:, -size - 1 : -1]
        old = logits[:, -size - 1 : -1].log_softmax(-1).gather(2, answers[..., None])[..., 0]
        advantages = advantages_of(rewards, values)
        returns = advantages + values
    for _ in range(2):
        logits, new_values = net(ids, mask)
        logps = logits[:, -size - 1 : -1].log_softmax(-1).gather(2, answers[..., None])[..., 0]
        ratio = (logps - old).exp()
        actor_loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        critic_loss = (new_values[:, -size - 1 : -1] - returns).pow(2).mean()
        optimizer.zero_grad()
        (actor_loss + 0.1 * critic_loss).backward()
        optimizer.step()
    print(f"reward {rewards.sum(1).mean():.3f}")
torch.save(net.state_dict(), "ppo.pt")
