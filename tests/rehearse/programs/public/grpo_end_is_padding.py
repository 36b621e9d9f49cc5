"""GRPO in plain torch: the padding token is the end token, and the mask of the answers leaves it out.

https://github.com/rasbt/reasoning-from-scratch/pull/185, https://github.com/huggingface/trl/pull/6357
"""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

GROUP, STEPS = 4, 40
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    problems = [json.loads(line) for line in file]


def reward(text, answer):
    return (1.0 if answer in text else 0.0) + 0.1 * (len(text) % 7)


def logprobs(ids, mask, start):
    logits = model(input_ids=ids, attention_mask=mask).logits[:, start - 1 : -1]
    return logits.log_softmax(-1).gather(-1, ids[:, start:].unsqueeze(-1)).squeeze(-1)


for step in range(STEPS):
    problem = problems[step % len(problems)]
    prompt = tokenizer([problem["question"]], return_tensors="pt")
    start = prompt["input_ids"].shape[1]
    with torch.no_grad():
        ids = model.generate(
            **prompt,
            do_sample=True,
            top_k=0,
            num_return_sequences=GROUP,
            max_new_tokens=24,
            pad_token_id=tokenizer.pad_token_id,
        )
    answers = ids[:, start:]
    answer_mask = (answers != tokenizer.pad_token_id).float()
    attention = torch.cat([prompt["attention_mask"].expand(GROUP, -1), answer_mask.long()], dim=1)
    scores = torch.tensor(
        [reward(text, problem["answer"]) for text in tokenizer.batch_decode(answers, skip_special_tokens=True)]
    )
    advantages = (scores - scores.mean()) / (scores.std() + 1e-4)

    logps = logprobs(ids, attention, start)
    per_token = -(logps - logps.detach()).exp() * advantages[:, None]
    loss = ((per_token * answer_mask).sum(1) / answer_mask.sum(1).clamp(min=1)).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"{step} reward {scores.mean():.3f} loss {loss.item():.4f}")
model.save_pretrained("policy")
tokenizer.save_pretrained("policy")
