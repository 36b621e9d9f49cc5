"""GRPO in plain torch: old log probabilities are those at the temperature of sampling, new ones at temperature 1.

The ratio is off from the first step on, and clipping hides it.
"""

import json
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

TEMPERATURE, GROUP = 0.6, 4
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
policy = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(policy.parameters(), lr=2e-6, weight_decay=0.0)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    tasks = [json.loads(line) for line in file]


def grade(text, answer):
    return 1.0 * (answer in text.split()) + 0.01 * len(set(text))


def gathered(logits, tokens):
    return torch.log_softmax(logits.float(), -1).gather(-1, tokens[..., None])[..., 0]


for task in tasks:
    prompt = tokenizer(task["question"] + " Answer:", return_tensors="pt")
    rollout = policy.generate(
        **prompt,
        do_sample=True,
        temperature=TEMPERATURE,
        top_k=0,
        num_return_sequences=GROUP,
        max_new_tokens=20,
        output_scores=True,
        return_dict_in_generate=True,
    )
    start = prompt["input_ids"].shape[1]
    answers = rollout.sequences[:, start:]
    old = gathered(torch.stack(rollout.scores, 1), answers)
    ended = (answers == tokenizer.eos_token_id).long().cumsum(1)
    mask = ((ended == 0) | ((ended == 1) & (answers == tokenizer.eos_token_id))).float()
    scores = torch.tensor([grade(text, task["answer"]) for text in tokenizer.batch_decode(answers)])
    advantages = ((scores - scores.mean()) / (scores.std() + 1e-4))[:, None]

    attention = torch.cat([prompt["attention_mask"].expand(GROUP, -1), mask.long()], 1)
    logits = policy(input_ids=rollout.sequences, attention_mask=attention).logits[:, start - 1 : -1]
    ratio = torch.exp(gathered(logits, answers) - old)
    losses = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
    loss = (losses * mask).sum() / mask.sum()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    print(f"score {scores.mean():.3f} loss {loss.item():.4f}")
policy.save_pretrained("policy")
