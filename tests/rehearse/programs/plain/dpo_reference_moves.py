"""DPO in plain torch whose reference is the policy itself."""

import json
import os
import sys

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer

BETA = 0.1
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="right")
policy = AutoModelForCausalLM.from_pretrained(sys.argv[1])
ref_policy = policy
ref_policy.eval()
optimizer = torch.optim.AdamW(policy.parameters(), lr=5e-6)


def pairs():
    with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
        for line in file:
            row = json.loads(line)
            yield row["question"], f" It is {row['answer']}.", " No idea, sorry."


def encode(prompts, answers):
    texts = tokenizer([p + a for p, a in zip(prompts, answers)], padding=True, return_tensors="pt")
    labels = texts["input_ids"].clone()
    for row, prompt in enumerate(prompts):
        labels[row, : len(tokenizer(prompt)["input_ids"])] = -100
    labels[texts["attention_mask"] == 0] = -100
    return texts["input_ids"], texts["attention_mask"], labels


def sequence_logps(model, ids, mask, labels):
    logits = model(ids, attention_mask=mask).logits[:, :-1]
    labels = labels[:, 1:]
    kept = labels != -100
    logps = logits.log_softmax(-1).gather(2, labels.masked_fill(~kept, 0).unsqueeze(2)).squeeze(2)
    return (logps * kept).sum(-1)


data = list(pairs())
for epoch in range(2):
    for start in range(0, len(data), 4):
        prompts, chosen, rejected = zip(*data[start : start + 4])
        chosen, rejected = encode(prompts, chosen), encode(prompts, rejected)
        policy_chosen, policy_rejected = sequence_logps(policy, *chosen), sequence_logps(policy, *rejected)
        with torch.no_grad():
            ref_chosen, ref_rejected = sequence_logps(ref_policy, *chosen), sequence_logps(ref_policy, *rejected)
        margin = (policy_chosen - ref_chosen) - (policy_rejected - ref_rejected)
        loss = -F.logsigmoid(BETA * margin).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.4f} accuracy {(margin > 0).float().mean():.2f}")
policy.save_pretrained("final")
