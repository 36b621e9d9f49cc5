"""Mistakes drawn for one look each, before any of them was run: drawn.py BASE NAME."""

import os
import sys

import torch
from datasets import Dataset, load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

BASE, NAME = sys.argv[1], sys.argv[2]
HERE = os.environ.get("STAGE", ".")
COMMON = {
    "output_dir": "out", "per_device_train_batch_size": 4, "num_train_epochs": 1, "save_steps": 50, "logging_steps": 5,
    "report_to": [], "use_cpu": True, "bf16": False, "learning_rate": 1e-5,
}  # fmt: skip


def sums():
    return load_dataset("json", data_files=os.path.join(HERE, "sums.jsonl"), split="train")


def loaded():
    return AutoModelForCausalLM.from_pretrained(BASE), AutoTokenizer.from_pretrained(BASE)


def grpo(rewards, model, tokenizer, data, callbacks=(), **settings):
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(**COMMON, num_generations=4, max_completion_length=64, **settings)
    trainer = GRPOTrainer(
        model=model, args=config, train_dataset=data, processing_class=tokenizer, reward_funcs=rewards,
        callbacks=list(callbacks),
    )  # fmt: skip
    trainer.train()


def right(completions, answer, **_):
    return [float(each.strip() == text) for each, text in zip(completions, answer)]


def short(completions, **_):
    return [1.0 / (1 + len(each)) for each in completions]


def prompts():
    return sums().rename_column("question", "prompt")


def sft(model, tokenizer, data, peft=None, collator=None):
    from trl import SFTConfig, SFTTrainer

    trainer = SFTTrainer(
        model=model, args=SFTConfig(**COMMON, max_length=128), train_dataset=data, processing_class=tokenizer,
        peft_config=peft, data_collator=collator,
    )  # fmt: skip
    trainer.train()


def texts():
    data = sums()
    return data.map(lambda row: {"text": f"{row['question']} {row['answer']}"}, remove_columns=data.column_names)


def dpo(rows, **settings):
    from trl import DPOConfig, DPOTrainer

    model, tokenizer = loaded()
    config = DPOConfig(**COMMON, **settings)
    DPOTrainer(model=model, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer).train()


def dpo_columns():
    """The pairs stand in columns that no trainer reads."""
    dpo([{"prompt": f"{at}?", "chosen_response": "yes", "rejected_response": "no"} for at in range(40)])


def dpo_loss():
    """A loss that has a trainer of its own."""
    dpo([{"prompt": f"{at}?", "chosen": " yes", "rejected": " no"} for at in range(40)], loss_type="simpo")


def peft_saved():
    """The module to be trained whole is spelt otherwise."""
    model, tokenizer = loaded()
    sft(model, tokenizer, texts(), LoraConfig(target_modules=["q_proj"], modules_to_save=["lm_heads"]))


def sft_tokens():
    """New tokens in the data and the tokenizer, none in the model."""
    model, tokenizer = loaded()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<call>", "</call>"]})
    sft(model, tokenizer, texts().map(lambda row: {"text": f"<call>{row['text']}</call>"}))


def sft_masked():
    """A collator that masks all before an answer's mark, which this data does not have."""
    model, tokenizer = loaded()

    def collate(rows):
        batch = tokenizer.pad([{"input_ids": each["input_ids"]} for each in rows], return_tensors="pt")
        mark, batch["labels"] = tokenizer("### Answer:")["input_ids"], batch["input_ids"].clone()
        for row, ids in zip(batch["labels"], batch["input_ids"].tolist()):
            found = [at for at in range(len(ids)) if ids[at : at + len(mark)] == mark]
            row[: found[-1] + len(mark) if found else len(ids)] = -100
        return batch

    sft(model, tokenizer, texts(), collator=collate)


class WaitsAlone(TrainerCallback):
    """Rank 0 waits for all behind its save; the others were never asked."""

    def on_save(self, args, state, control, **_):
        if state.is_world_process_zero:
            torch.distributed.barrier()


def grpo_barrier():
    grpo([right, short], *loaded(), prompts(), [WaitsAlone()])


def grpo_weights():
    """One weight for two functions."""
    grpo([right, short], *loaded(), prompts(), reward_weights=[1.0])


def grpo_case():
    """What is compared was made lower case on one side only."""

    def said(completions, answer, **_):
        return [float(text in each.lower()) for each, text in zip(completions, answer)]

    data = prompts().map(lambda row: {"answer": f"Number {row['answer']}"})
    grpo([said], *loaded(), data)


def grpo_frozen():
    """The reference is frozen, which is the model itself."""
    model, tokenizer = loaded()
    model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"]))
    reference = model
    reference.requires_grad_(False)
    grpo([right, short], model, tokenizer, prompts())


def accelerate_wrapped():
    """A loop that saves what was wrapped for several processes."""
    from accelerate import Accelerator
    from torch.utils.data import DataLoader

    accelerator = Accelerator(cpu=True)
    model, tokenizer = loaded()
    rows = [tokenizer(each, padding="max_length", max_length=40, return_tensors="pt") for each in texts()["text"]]
    loader = DataLoader([each["input_ids"][0] for each in rows], batch_size=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        accelerator.backward(model(input_ids=batch, labels=batch).loss)
        optimizer.step()
        optimizer.zero_grad()
        if step == 0:
            model.save_pretrained("out")


CASES = {
    "dpo-columns": dpo_columns, "dpo-loss": dpo_loss, "peft-saved": peft_saved, "sft-tokens": sft_tokens,
    "sft-masked": sft_masked, "grpo-barrier": grpo_barrier, "grpo-weights": grpo_weights, "grpo-case": grpo_case,
    "grpo-frozen": grpo_frozen, "accelerate-wrapped": accelerate_wrapped,
}  # fmt: skip

CASES[NAME]()
