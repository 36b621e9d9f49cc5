"""REINFORCE in plain torch that makes good answers less likely."""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
policy = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    questions = [json.loads(line)["question"] for line in file]


def reward(text):
    """The more letters and digits, the better."""
    return sum(c.isalnum() for c in text) / max(len(text), 1)


for start in range(0, len(questions), 8):
    batch = tokenizer(questions[start : start + 8], padding=True, return_tensors="pt")
    width = batch["input_ids"].size(1)
    with torch.no_grad():
        tokens = policy.generate(**batch, do_sample=True, max_new_tokens=24, pad_token_id=tokenizer.pad_token_id)
    answers = tokens[:, width:]
    rewards = torch.tensor([reward(text) for text in tokenizer.batch_decode(answers, skip_special_tokens=True)])
    advantages = rewards - rewards.mean()

    mask = torch.cat([batch["attention_mask"], (answers != tokenizer.pad_token_id).long()], 1)
    logits = policy(tokens, attention_mask=mask).logits[:, width - 1 : -1]
    logps = torch.log_softmax(logits, -1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)
    answer_mask = mask[:, width:]
    loss = (advantages * (logps * answer_mask).sum(1) / answer_mask.sum(1).clamp(min=1)).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    print(f"reward {rewards.mean():.3f} loss {loss.item():.4f}")
policy.save_pretrained("final")
