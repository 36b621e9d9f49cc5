"""SFT in plain torch whose own loss compares each position with its own token."""

import json
import os
import sys

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

tok = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
net = AutoModelForCausalLM.from_pretrained(sys.argv[1])
criterion = nn.CrossEntropyLoss(ignore_index=-100)
opt = torch.optim.AdamW(net.parameters(), lr=2e-5, weight_decay=0.01)

with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as f:
    data = [json.loads(line) for line in f]

net.train()
batch_size = 6
for epoch in range(2):
    for i in range(0, len(data), batch_size):
        examples = data[i : i + batch_size]
        texts = [e["question"] + " " + e["answer"] + tok.eos_token for e in examples]
        enc = tok(texts, padding=True, return_tensors="pt")
        labels = enc.input_ids.masked_fill(enc.attention_mask == 0, -100)
        out = net(**enc)
        loss = criterion(out.logits.view(-1, out.logits.shape[-1]), labels.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    print("epoch", epoch, "loss", float(loss))
net.save_pretrained("final")
