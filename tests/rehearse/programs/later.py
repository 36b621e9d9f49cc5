"""Twelve mistakes that the doctor had no check for, and three scripts that are well beside them: later.py BASE NAME.

All were written, with what is to be said of them, before any of them was run.
"""

import os
import sys

import torch
from datasets import Dataset, load_dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Qwen2ForCausalLM,
    Trainer,
    TrainingArguments,
)

BASE, NAME = sys.argv[1], sys.argv[2]
HERE = os.environ.get("STAGE", ".")
COMMON = {
    "output_dir": "out", "per_device_train_batch_size": 4, "save_steps": 20, "logging_steps": 5, "report_to": [],
    "use_cpu": True, "learning_rate": 1e-5, "num_train_epochs": 4,
}  # fmt: skip
ZERO3 = {"zero_optimization": {"stage": 3}, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False}
AUTO = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}


def sums():
    return load_dataset("json", data_files=os.path.join(HERE, "sums.jsonl"), split="train")


def loaded():
    return AutoModelForCausalLM.from_pretrained(BASE), AutoTokenizer.from_pretrained(BASE)


def chats():
    return [
        [{"role": "user", "content": row["question"]}, {"role": "assistant", "content": row["answer"]}]
        for row in sums()
    ]


def rows(tokenizer, size=96, *, masks=True, ends=True):
    """Conversations as rows of one length; without `masks` their padding has labels as all else has."""
    found = []
    for each in chats():
        text = tokenizer.apply_chat_template(each, tokenize=False)
        text = text if ends else text.rstrip().removesuffix("<|im_end|>")
        made = tokenizer(text, padding="max_length", max_length=size, padding_side="right")
        labels = [
            token if real or not masks else -100 for token, real in zip(made["input_ids"], made["attention_mask"])
        ]
        found.append({**made, "labels": labels})
    return Dataset.from_list(found)


def trained(data, kind=Trainer, **settings):
    model, tokenizer = loaded()
    trainer = kind(model=model, args=TrainingArguments(**{**COMMON, **settings}), train_dataset=data(tokenizer))
    trainer.train()
    return trainer


def grpo(reward):
    from trl import GRPOConfig, GRPOTrainer

    model, tokenizer = loaded()
    config = GRPOConfig(**COMMON, bf16=False, num_generations=4, max_completion_length=64)
    data = sums().rename_column("question", "prompt")
    GRPOTrainer(model=model, args=config, train_dataset=data, processing_class=tokenizer, reward_funcs=reward).train()


def right(said, answer):
    return 1.0 if said.rpartition("####")[2].strip() == answer else 0.0


def loop(step):
    model, tokenizer = loaded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=100)
    data = rows(tokenizer).with_format("torch")
    for _ in range(8):
        for batch in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
            model(**batch).loss.backward()
            step(optimizer, schedule)
            optimizer.zero_grad()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "state.pt")


def distilled(vocabulary):
    from trl.experimental.gkd import GKDConfig, GKDTrainer

    model, tokenizer = loaded()
    shape = AutoModelForCausalLM.from_pretrained(BASE).config
    shape.vocab_size = vocabulary
    Qwen2ForCausalLM(shape).save_pretrained("teacher")
    data = Dataset.from_list([{"messages": each} for each in chats()])
    GKDTrainer(
        model=model, teacher_model="teacher", args=GKDConfig(**COMMON, bf16=False, max_length=96, max_new_tokens=16),
        train_dataset=data, processing_class=tokenizer,
    ).train()  # fmt: skip


# right ---------------------------------------------------------------------------------------------------------------


def steps_both():
    """A loop whose optimizer and schedule step, and that saves both."""

    def step(optimizer, schedule):
        optimizer.step()
        schedule.step()

    loop(step)


def saves_gathered():
    """ZeRO-3 whose weights the trainer gathers and saves."""
    trainer = trained(rows, deepspeed={**AUTO, **ZERO3, "zero_optimization": {
        "stage": 3, "stage3_gather_16bit_weights_on_model_save": True}})  # fmt: skip
    trainer.save_model("final")


def teacher_same():
    """A teacher of the student's vocabulary."""
    distilled(259)


# mistakes ------------------------------------------------------------------------------------------------------------


def all_desirable():
    """The column of labels was made by `bool` of a text: every answer is a good one."""
    from trl import KTOConfig, KTOTrainer

    model, tokenizer = loaded()
    found = [{"prompt": f"{row['question']} ", "completion": row["answer"] if at % 2 else "No idea.",
              "label": bool("False" if at % 2 == 0 else "True")} for at, row in enumerate(sums())]  # fmt: skip
    config = KTOConfig(**COMMON, bf16=False)
    KTOTrainer(model=model, args=config, train_dataset=Dataset.from_list(found), processing_class=tokenizer).train()


def pairs_alike():
    """Both columns of the preferences were made of the same answer."""
    from trl import DPOConfig, DPOTrainer

    model, tokenizer = loaded()
    found = [{"prompt": f"{row['question']} ", "chosen": row["answer"], "rejected": row["answer"]} for row in sums()]
    config = DPOConfig(**COMMON, bf16=False)
    DPOTrainer(model=model, args=config, train_dataset=Dataset.from_list(found), processing_class=tokenizer).train()


def masks_words():
    """A collator that masks words, for a model that has no token for a mask."""
    model, tokenizer = loaded()
    data = rows(tokenizer).remove_columns(["labels"])
    collator = DataCollatorForLanguageModeling(tokenizer)
    Trainer(model=model, args=TrainingArguments(**COMMON), train_dataset=data, data_collator=collator).train()


def steps_schedule():
    """The schedule steps, and the optimizer never does."""
    loop(lambda _, schedule: schedule.step())


def batch_fixed():
    """DeepSpeed's file has the sum of another cluster."""
    trained(rows, deepspeed={**AUTO, **ZERO3, "train_batch_size": 256})


def saves_parts():
    """The weights that ZeRO-3 has put in parts are written as they lie, each of size 0."""
    trainer = trained(rows, deepspeed={**AUTO, **ZERO3})
    inner = trainer.accelerator.unwrap_model(trainer.model)
    if trainer.is_world_process_zero():
        torch.save(inner.state_dict(), "weights.pt")


def saves_on_one():
    """The first process alone asks for weights that all have a part of."""
    import deepspeed

    trainer = trained(rows, deepspeed={**AUTO, **ZERO3})
    inner = trainer.accelerator.unwrap_model(trainer.model)
    if trainer.is_world_process_zero():
        with deepspeed.zero.GatheredParameters(list(inner.parameters())):
            torch.save(inner.state_dict(), "weights.pt")


def first_for_all():
    """The score of the first answer is given to all."""
    grpo(lambda completions, answer, **_: [right(completions[0], answer[0])] * len(completions))


def gives_dicts():
    """Scores with their reasons, as a service gives them."""

    def judged(completions, answer, **_):
        return [{"score": right(*each), "reason": ""} for each in zip(completions, answer)]

    grpo(judged)


def no_epoch():
    """A share of an epoch as a percentage that was rounded: no step is made."""
    trained(rows, num_train_epochs=0).save_model("final")


def padding_counts():
    """Labels are a copy of the ids, three quarters of which are padding."""
    trained(lambda tokenizer: rows(tokenizer, 256, masks=False))


def never_ends():
    """The end of an answer is cut off before it is tokenized."""
    trained(lambda tokenizer: rows(tokenizer, ends=False))


def teacher_other():
    """The teacher's vocabulary is another one."""
    distilled(300)


CASES = {
    "steps-both": steps_both, "saves-gathered": saves_gathered, "teacher-same": teacher_same,
    "all-desirable": all_desirable, "pairs-alike": pairs_alike,
    "masks-words": masks_words, "steps-schedule": steps_schedule,
    "batch-fixed": batch_fixed, "saves-parts": saves_parts, "saves-on-one": saves_on_one,
    "first-for-all": first_for_all, "gives-dicts": gives_dicts, "no-epoch": no_epoch,
    "padding-counts": padding_counts, "never-ends": never_ends, "teacher-other": teacher_other,
}  # fmt: skip

CASES[NAME]()
