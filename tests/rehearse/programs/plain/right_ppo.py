"""PPO in plain torch: old log probabilities of the policy itself, a head for values, a bonus for entropy."""

import json
import os
import sys

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    prompts = [json.loads(line)["question"] for line in file]


class ActorCritic(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.actor = AutoModelForCausalLM.from_pretrained(path)
        self.value = nn.Sequential(nn.Linear(self.actor.config.hidden_size, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, ids, mask):
        out = self.actor(ids, attention_mask=mask, output_hidden_states=True)
        return out.logits, self.value(out.hidden_states[-1]).squeeze(-1)


net = ActorCritic(sys.argv[1])
optimizer = torch.optim.Adam(
    [{"params": net.actor.parameters(), "lr": 1e-6}, {"params": net.value.parameters(), "lr": 1e-4}]
)


def of(ids, mask, width):
    logits, values = net(ids, mask)
    logps = logits[:, width - 1 : -1].log_softmax(-1)
    chosen = logps.gather(2, ids[:, width:, None]).squeeze(2)
    return chosen, -(logps.exp() * logps).sum(-1), values[:, width - 1 : -1]


@torch.no_grad()
def rollout(texts):
    enc = tokenizer(texts, return_tensors="pt", padding=True)
    width = enc["input_ids"].shape[1]
    ids = net.actor.generate(**enc, do_sample=True, top_k=0, max_new_tokens=24)
    answers = ids[:, width:]
    alive = (answers != tokenizer.pad_token_id).long()
    mask = torch.cat([enc["attention_mask"], alive], 1)
    reward = torch.tensor([len(set(t.split())) + t.count("e") for t in tokenizer.batch_decode(answers)]).float()
    old, _, values = of(ids, mask, width)
    last = alive.sum(1, keepdim=True) - 1
    rewards = torch.zeros_like(old).scatter_(1, last.clamp(min=0), reward[:, None])
    advantages, carried = torch.zeros_like(old), torch.zeros(len(ids))
    for t in reversed(range(old.size(1))):
        following = values[:, t + 1] * alive[:, t + 1] if t + 1 < old.size(1) else 0.0
        carried = (rewards[:, t] + following - values[:, t]) * alive[:, t] + 0.95 * carried
        advantages[:, t] = carried
    returns = advantages + values
    kept = advantages[alive.bool()]
    advantages = (advantages - kept.mean()) / (kept.std() + 1e-8) * alive
    return ids, mask, width, old, alive, advantages, returns, reward


for begin in range(0, len(prompts), 8):
    ids, mask, width, old, alive, advantages, returns, reward = rollout(prompts[begin : begin + 8])
    for _ in range(2):
        for rows in torch.randperm(len(ids)).split(4):
            new, entropy, values = of(ids[rows], mask[rows], width)
            ratio = torch.exp(new - old[rows])
            policy = -torch.min(ratio * advantages[rows], ratio.clamp(0.8, 1.2) * advantages[rows])
            each = policy + 0.5 * (values - returns[rows]) ** 2 - 0.01 * entropy
            loss = (each * alive[rows]).sum() / alive[rows].sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
    print(f"reward {reward.mean():.2f} loss {loss.item():.3f}")
torch.save(net.state_dict(), "net.pt")
