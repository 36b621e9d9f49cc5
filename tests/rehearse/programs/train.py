"""GRPO as people write it, whole or with one mistake: train.py BASE CASE [flags of the trainer].

The cases are in `mistakes.py` beside it; without one (`right`) the script is well.
"""

import os
import re
import sys

import mistakes
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

BASE, CASE = sys.argv[1], mistakes.CASES[sys.argv[2]]
HERE = os.environ.get("STAGE", ".")


def right_answer(completions, answer, **_):
    """1 for the answer itself, alone or behind `####`."""
    found = [each.rpartition("####")[2].strip().rstrip(".") for each in completions]
    return [1.0 if each == str(right) else 0.0 for each, right in zip(found, answer)]


def has_number(completions, **_):
    """A little for any number at all."""
    return [0.1 if re.search(r"\d", each) else 0.0 for each in completions]


def main():
    data = load_dataset("json", data_files=os.path.join(HERE, "sums.jsonl"), split="train")
    data = data.map(lambda row: {"prompt": f"{row['question']} Answer with ####."}, remove_columns=["question"])
    data = CASE.data(data)
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    CASE.tokenizer(tokenizer)
    model = AutoModelForCausalLM.from_pretrained(BASE, **CASE.loading)
    model = CASE.model(model)
    settings = {
        "output_dir": "out", "per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 64,
        "learning_rate": 1e-5, "num_train_epochs": 1, "save_steps": 50, "logging_steps": 5, "report_to": [],
        "use_cpu": True, "bf16": False, "seed": 3, "eval_strategy": "no", **CASE.settings,
    }  # fmt: skip
    config = GRPOConfig(**settings)
    trainer = GRPOTrainer(
        model=model, args=config, train_dataset=data, processing_class=tokenizer,
        reward_funcs=CASE.rewards or [right_answer, has_number], **CASE.trainer(data),
    )  # fmt: skip
    CASE.made(trainer)
    trainer.train(resume_from_checkpoint=CASE.resume)
    CASE.after(trainer)
    trainer.save_model("final")
    print("finished")


main()
