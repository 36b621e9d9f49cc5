"""PPO in plain torch whose old log probabilities are those of a sampler at another temperature."""

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
        self.value = nn.Linear(self.actor.config.hidden_size, 1)

    def forward(self, ids, mask):
        out = self.actor(ids, attention_mask=mask, output_hidden_states=True)
        return out.logits, self.value(out.hidden_states[-1]).squeeze(-1)


net = ActorCritic(sys.argv[1])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-6)


def rollout(texts):
    enc = tokenizer(texts, return_tensors="pt", padding=True)
    made = net.actor.generate(
        **enc,
        do_sample=True,
        temperature=0.7,
        top_k=0,
        max_new_tokens=24,
        output_scores=True,
        return_dict_in_generate=True,
    )
    width = enc["input_ids"].shape[1]
    answers = made.sequences[:, width:]
    scores = torch.stack(made.scores, 1).log_softmax(-1)
    old = scores.gather(2, answers[..., None]).squeeze(2)
    alive = (answers != tokenizer.pad_token_id).long()
    reward = torch.tensor([len(set(t.split())) + t.count("e") for t in tokenizer.batch_decode(answers)]).float()
    return made.sequences, torch.cat([enc["attention_mask"], alive], 1), width, old.detach(), alive, reward


def step(ids, mask, width, old, alive, reward):
    logits, values = net(ids, mask)
    new = logits[:, width - 1 : -1].log_softmax(-1).gather(2, ids[:, width:, None]).squeeze(2)
    values = values[:, width - 1 : -1]
    returns = reward[:, None].expand_as(values)
    advantages = (returns - values).detach()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = torch.exp(new - old)
    policy = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    value = (values - returns) ** 2
    return ((policy + 0.5 * value) * alive).sum() / alive.sum()


for begin in range(0, len(prompts), 8):
    batch = rollout(prompts[begin : begin + 8])
    for _ in range(4):
        loss = step(*batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
    print(f"reward {batch[-1].mean():.2f} loss {loss.item():.3f}")
torch.save(net.state_dict(), "net.pt")
