"""GRPO in plain torch: log probabilities have one place less than tokens, and are cut at the place of the tokens.

The first token of every answer is never trained: https://github.com/huggingface/trl/pull/2683 has the cut one earlier.
"""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

GROUP = 4
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, weight_decay=0.0)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    data = [json.loads(line) for line in file]


def get_logps(input_ids, attention_mask):
    """Of every token but the first, [rows, width - 1]."""
    logits = model(input_ids, attention_mask=attention_mask).logits[:, :-1]
    return torch.gather(logits.log_softmax(-1), 2, input_ids[:, 1:].unsqueeze(-1)).squeeze(-1)


def answer_mask(completions):
    ended = completions == tokenizer.eos_token_id
    where = torch.where(ended.any(1), ended.int().argmax(1), completions.size(1) - 1)
    return (torch.arange(completions.size(1)) <= where[:, None]).long()


for start in range(0, len(data), 2):
    rows = data[start : start + 2]
    inputs = tokenizer([row["question"] for row in rows], padding=True, return_tensors="pt")
    inputs = {name: value.repeat_interleave(GROUP, dim=0) for name, value in inputs.items()}
    prompt_length = inputs["input_ids"].size(1)
    with torch.no_grad():
        sequences = model.generate(**inputs, do_sample=True, top_k=0, max_new_tokens=20)
    completions = sequences[:, prompt_length:]
    mask = answer_mask(completions)
    rewards = torch.tensor(
        [
            float(rows[number // GROUP]["answer"] in text) + len(set(text)) / 100
            for number, text in enumerate(tokenizer.batch_decode(completions, skip_special_tokens=True))
        ]
    ).view(-1, GROUP)
    advantages = ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)).flatten()

    logps = get_logps(sequences, torch.cat([inputs["attention_mask"], mask], 1))[:, prompt_length:]
    mask = mask[:, 1:]
    ratio = torch.exp(logps - logps.detach())
    loss = -((ratio * advantages[:, None] * mask).sum() / mask.sum())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"reward {rewards.mean():.3f}")
model.save_pretrained("out")
