"""DPO in plain torch: chosen and rejected answers come from two loaders, each of which shuffles by itself."""

import copy
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

BETA = 0.1
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
policy = AutoModelForCausalLM.from_pretrained(sys.argv[1])
reference = copy.deepcopy(policy).requires_grad_(False).eval()
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    rows = [json.loads(line) for line in file]


def collate(pairs):
    encoded = []
    for question, answer in pairs:
        prompt = tokenizer(question)["input_ids"]
        encoded.append((prompt, tokenizer(answer)["input_ids"] + [tokenizer.eos_token_id]))
    width = max(len(prompt) + len(answer) for prompt, answer in encoded)
    ids = torch.full((len(pairs), width), tokenizer.pad_token_id)
    attention, answers = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (prompt, answer) in enumerate(encoded):
        ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        attention[row, : len(prompt) + len(answer)] = 1
        answers[row, len(prompt) : len(prompt) + len(answer)] = 1
    return ids, attention, answers


def summed(model, ids, attention, answers):
    logps = model(input_ids=ids, attention_mask=attention).logits[:, :-1].log_softmax(-1)
    return (logps.gather(2, ids[:, 1:, None])[..., 0] * answers[:, 1:]).sum(1)


chosen = [(row["question"], f" {row['answer']}.") for row in rows]
rejected = [(row["question"], f" {int(row['answer']) + 1}, I think.") for row in rows]
loaders = [DataLoader(each, batch_size=6, shuffle=True, collate_fn=collate) for each in (chosen, rejected)]
optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-6)
for epoch in range(3):
    for good, bad in zip(*loaders):
        with torch.no_grad():
            reference_good, reference_bad = summed(reference, *good), summed(reference, *bad)
        policy_good, policy_bad = summed(policy, *good), summed(policy, *bad)
        margins = (policy_good - reference_good) - (policy_bad - reference_bad)
        loss = -F.logsigmoid(BETA * margins).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.4f} accuracy {(margins > 0).float().mean().item():.2f}")
policy.save_pretrained("dpo")
