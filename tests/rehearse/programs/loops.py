"""Training loops of one's own over conversations, whole or with one mistake: loops.py BASE CASE."""

import json
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

BASE, NAME = sys.argv[1], sys.argv[2]
ANSWER = "<|im_start|>assistant\n"
tokenizer = AutoTokenizer.from_pretrained(BASE)
with open(os.path.join(os.environ["STAGE"], "sums.jsonl")) as file:
    ROWS = [json.loads(line) for line in file]


def batches(marker=ANSWER, *, moved=False):
    """Rows whose answers alone are trained: what stands behind the marker."""
    mark = tokenizer(marker, add_special_tokens=False)["input_ids"]
    for begin in range(0, len(ROWS), 4):
        texts = [f"<|im_start|>user\n{each['question']}<|im_end|>\n{ANSWER}{each['answer']}<|im_end|>"
                 for each in ROWS[begin : begin + 4]]  # fmt: skip
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        labels = batch["input_ids"].clone()
        for row, ids in zip(labels, batch["input_ids"].tolist()):
            places = [at for at in range(len(ids)) if ids[at : at + len(mark)] == mark]
            row[: places[-1] + len(mark) if places else len(ids)] = -100
        if moved:
            labels = torch.cat([labels[:, 1:], torch.full((len(labels), 1), -100)], 1)
        yield {**batch, "labels": labels}


def base():
    return AutoModelForCausalLM.from_pretrained(BASE, dtype=torch.float32)


def adapted(model):
    return get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


def train(model, rows, parameters=None, loss_of=None):
    parameters = parameters or [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    schedule = get_cosine_schedule_with_warmup(optimizer, 2, 100)
    model.train()
    for batch in rows:
        loss = loss_of(batch) if loss_of else model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.save_pretrained("final")


def right():
    model = base()
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable()
    train(adapted(model), batches())


def right_tasks():
    """Two heads, of which each step trains one."""
    model, steps = base(), iter(range(1000))
    model.heads = torch.nn.ModuleList([torch.nn.Linear(model.config.vocab_size, 1) for _ in range(2)])

    def loss_of(batch):
        output = model(**batch)
        return output.loss + model.heads[next(steps) % 2](output.logits[:, -1]).pow(2).mean()

    train(model, batches(), loss_of=loss_of)


def right_own_loss():
    """Labels that were moved go to a loss that does not move them."""
    model = base()

    def loss_of(batch):
        logits = model(**batch).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())

    train(model, batches(moved=True), loss_of=loss_of)


def optimizer_first():
    model = base()
    parameters = list(model.parameters())
    train(adapted(model), batches(), parameters)


def head_unused():
    model = base()
    model.value = torch.nn.Linear(model.config.hidden_size, 1)
    train(model, batches())


CASES = {
    "right": right, "right-tasks": right_tasks, "right-own-loss": right_own_loss,
    "masked": lambda: train(base(), batches("<|assistant|>\n")), "moved": lambda: train(base(), batches(moved=True)),
    "optimizer-first": optimizer_first, "head-unused": head_unused,
}  # fmt: skip
CASES[NAME]()
