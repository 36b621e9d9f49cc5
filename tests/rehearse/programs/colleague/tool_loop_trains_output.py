"""A tool loop with REINFORCE in plain torch: what the calculator wrote is trained like what the model wrote."""

import json
import os
import re
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROUNDS, PER_TASK = 2, 4
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    tasks = [json.loads(line) for line in file]


def calculator(text):
    numbers = [int(each) for each in re.findall(r"\d{1,4}", text)]
    return f"\n[tool] {sum(numbers)}\n"


def episode(task):
    """Ids of a whole conversation, and how many of them are the question."""
    ids = tokenizer(f"{task['question']}\n", return_tensors="pt")["input_ids"]
    asked = ids.shape[1]
    for turn in range(ROUNDS):
        before = ids.shape[1]
        ids = model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0, max_new_tokens=10
        )
        if turn + 1 < ROUNDS:
            said = tokenizer.decode(ids[0, before:])
            result = tokenizer(calculator(said), return_tensors="pt")["input_ids"]
            ids = torch.cat([ids, result], 1)
    return ids, asked


for task in tasks:
    episodes = [episode(task) for _ in range(PER_TASK)]
    texts = [tokenizer.decode(ids[0, asked:]) for ids, asked in episodes]
    scores = torch.tensor([float(task["answer"] in text) + len(set(text)) / 50 for text in texts])
    advantages = scores - scores.mean()
    total = 0.0
    for (ids, asked), advantage in zip(episodes, advantages):
        logps = model(input_ids=ids).logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
        loss = -(advantage * logps[:, asked - 1 :]).mean() / PER_TASK
        loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    print(f"score {scores.mean():.3f} loss {total:.4f}")
model.save_pretrained("with-tools")
