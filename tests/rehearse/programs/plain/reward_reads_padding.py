"""A reward model in plain torch whose score is read where the padding stands."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
tokenizer.padding_side = "right"


class RewardModel(nn.Module):
    def __init__(self, path):
        super().__init__()
        self.backbone = AutoModel.from_pretrained(path)
        self.head = nn.Linear(self.backbone.config.hidden_size, 1, bias=False)

    def forward(self, input_ids, attention_mask):
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.head(hidden[:, -1]).squeeze(-1)


model = RewardModel(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]

for epoch in range(2):
    for start in range(0, len(rows), 4):
        part = rows[start : start + 4]
        chosen = [f"{r['question']} The answer is {r['answer']}.<|im_end|>" for r in part]
        rejected = [f"{r['question']} {'I do not know. ' * (1 + start % 3)}<|im_end|>" for r in part]
        batch = tokenizer(chosen + rejected, padding=True, return_tensors="pt")
        scores = model(batch["input_ids"], batch["attention_mask"])
        good, bad = scores.chunk(2)
        loss = -F.logsigmoid(good - bad).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f} accuracy {(good > bad).float().mean():.2f}")
torch.save(model.state_dict(), "reward.pt")
