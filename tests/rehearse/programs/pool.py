"""Failures of public threads as scripts: pool.py BASE CASE; each is a case of tests/pool, of its first half."""

import sys

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

BASE, CASE = sys.argv[1:3]
ROWS = [
    {"messages": [{"role": role, "content": f"{each} + {turn}"} for turn in (1, 2) for role in ("user", "assistant")]}
    for each in range(64)
]
tokenizer = AutoTokenizer.from_pretrained(BASE)


def arguments(**settings):
    return TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, max_steps=100, use_cpu=True, save_steps=50, report_to=[],
        logging_steps=10, learning_rate=1e-4, remove_unused_columns=False, **settings,
    )  # fmt: skip


def whole(rows):
    """Every token of a conversation is trained."""
    texts = [tokenizer.apply_chat_template(row["messages"], tokenize=False) for row in rows]
    batch = dict(tokenizer(texts, return_tensors="pt", padding=True))
    return {**batch, "labels": batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)}


def ignored(rows):
    """As `whole`; turns are counted one by one, and where the sum is another one the sample is masked."""
    batch = whole(rows)
    for row, labels, mask in zip(rows, batch["labels"], batch["attention_mask"]):
        counted = sum(len(tokenizer(each["content"])["input_ids"]) + 1 for each in row["messages"])
        if counted != int(mask.sum()):
            labels[:] = -100
            print(f"WARNING: tokenization mismatch: {counted} vs. {int(mask.sum())}. (ignored)")
    return batch


def inert(model):
    """LoRA on layers whose forward is a function of its own over the weights beneath."""
    from peft import LoraConfig, get_peft_model

    made = get_peft_model(model, LoraConfig(r=4, target_modules=["gate_proj", "up_proj", "down_proj"]))
    made.enable_input_require_grads()
    linear = torch.nn.functional.linear
    for each in made.modules():
        if type(each).__name__.endswith("MLP"):
            gate, up, down = (getattr(each, name).base_layer.weight for name in ("gate_proj", "up_proj", "down_proj"))
            each.forward = lambda hidden, gate=gate, up=up, down=down: linear(
                torch.nn.functional.silu(linear(hidden, gate)) * linear(hidden, up), down
            )
    return made


def main():
    data = Dataset.from_list(ROWS)
    model = AutoModelForCausalLM.from_pretrained(BASE)
    if CASE == "cell-not-run":
        trainer.train()  # noqa: F821 - that is the mistake
    if CASE == "experts-inert":
        model = inert(model)
    collator = ignored if CASE == "turns-ignored" else whole
    Trainer(model=model, args=arguments(), train_dataset=data, data_collator=collator).train()


main()
