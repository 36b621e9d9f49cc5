"""PPO in plain torch: returns are advantages plus values of the same pass, so that the loss of the values is constant.

The returns are to be fixed before the inner steps: https://github.com/michaelnny/deep_rl_zoo/issues/5
"""

import json
import os
import sys

import torch
from torch import nn
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
actor = AutoModelForCausalLM.from_pretrained(sys.argv[1])


class Critic(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.body = AutoModel.from_pretrained(path)
        self.head = nn.Linear(self.body.config.hidden_size, 1)

    def forward(self, ids, mask):
        return self.head(self.body(input_ids=ids, attention_mask=mask).last_hidden_state).squeeze(-1)


critic = Critic(sys.argv[1])
optimizer = torch.optim.AdamW([*actor.parameters(), *critic.parameters()], lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    questions = [json.loads(line)["question"] for line in file]


def taken(ids, mask, start):
    logits = actor(input_ids=ids, attention_mask=mask).logits[:, start - 1 : -1]
    return logits.log_softmax(-1).gather(-1, ids[:, start:, None])[..., 0]


for first in range(0, len(questions), 6):
    enc = tokenizer(questions[first : first + 6], padding=True, return_tensors="pt")
    start = enc["input_ids"].shape[1]
    with torch.no_grad():
        ids = actor.generate(**enc, do_sample=True, top_k=0, max_new_tokens=16)
        ends = ids[:, start:] == tokenizer.eos_token_id
        alive = (ends.long().cumsum(1) - ends.long() == 0).float()
        mask = torch.cat([enc["attention_mask"], alive.long()], 1)
        old = taken(ids, mask, start)
        score = torch.tensor([t.count("1") + t.count("a") for t in tokenizer.batch_decode(ids[:, start:])]).float()
    for _ in range(2):
        values = critic(ids, mask)[:, start - 1 : -1]
        advantages = (score[:, None] - values) * alive
        returns = advantages.detach() + values
        new = taken(ids, mask, start)
        ratio = (new - old).exp()
        weight = advantages.detach()
        policy_loss = -(torch.min(ratio * weight, ratio.clamp(0.8, 1.2) * weight) * alive).sum() / alive.sum()
        value_loss = ((values - returns) ** 2 * alive).sum() / alive.sum()
        loss = policy_loss + 0.1 * value_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"score {score.mean():.2f} loss {loss.item():.4f}")
actor.save_pretrained("actor")
