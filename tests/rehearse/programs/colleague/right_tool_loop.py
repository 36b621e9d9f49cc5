"""A tool loop with LoRA: what the tool wrote is left out of the loss, episodes are packed into one padded batch."""

import json
import os
import re
import sys

import torch
from peft import LoraConfig, get_peft_model
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, AutoTokenizer

PER_TASK = 4
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
base = AutoModelForCausalLM.from_pretrained(sys.argv[1])
model = get_peft_model(base, LoraConfig(r=8, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"]))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    tasks = [json.loads(line) for line in file]


def episode(question):
    """Ids, and 1 where the model wrote."""
    ids = tokenizer(question + "\n")["input_ids"]
    own = [0] * len(ids)
    for turn in range(2):
        given = torch.tensor([ids])
        model.eval()
        out = model.generate(
            input_ids=given, attention_mask=torch.ones_like(given), do_sample=True, top_k=0, max_new_tokens=8
        )[0].tolist()
        model.train()
        own += [1] * (len(out) - len(ids))
        ids = out
        if turn == 0:
            numbers = re.findall(r"\d{1,4}", tokenizer.decode(ids))
            result = tokenizer(f"\n[tool] {sum(map(int, numbers))}\n")["input_ids"]
            ids, own = ids + result, own + [0] * len(result)
    return torch.tensor(ids), torch.tensor(own)


for task in tasks:
    episodes = [episode(task["question"]) for _ in range(PER_TASK)]
    texts = [tokenizer.decode(ids[own.bool()]) for ids, own in episodes]
    scores = torch.tensor([float(task["answer"] in text) + 0.02 * len(set(text)) for text in texts])
    advantages = scores - (scores.sum() - scores) / (PER_TASK - 1)
    ids = pad_sequence([each for each, _ in episodes], batch_first=True, padding_value=tokenizer.pad_token_id)
    own = pad_sequence([each for _, each in episodes], batch_first=True)
    attention = pad_sequence([torch.ones_like(each) for each, _ in episodes], batch_first=True)
    logps = model(input_ids=ids, attention_mask=attention).logits[:, :-1].log_softmax(-1)
    logps = logps.gather(2, ids[:, 1:, None])[..., 0]
    loss = -((logps * own[:, 1:]).sum(1) * advantages).mean() / 16
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"score {scores.mean():.3f} loss {loss.item():.4f}")
model.save_pretrained("tools-adapter")
