"""Trains a small model with TRL's GRPO on the CPU and prints the most bytes of tensors that lived in each phase.

peak_bytes.py CASES-AS-JSON. Phases: `update` (forward and backward), `step` (the optimizer). Generation is left out:
token by token it takes long under the counter. Parameters count from the start, everything else from the operator that
made it until it is freed. A CPU has no allocator of its own to ask, so this is what `torch.cuda.max_memory_allocated`
would count, without rounding.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch.utils._python_dispatch import _disable_current_modes
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

sys.path.insert(0, str(Path(__file__).parent))
from live import Live

CASES = json.loads(sys.argv[1])


class Phases(TrainerCallback):
    def __init__(self, live):
        self.live = live

    def on_pre_optimizer_step(self, *_, **__):
        self.live.enter("step")

    def on_step_end(self, *_, **__):
        self.live.enter("rest")


def tokenizer():
    vocabulary = {"<pad>": 0, "<eos>": 1}
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary[letter] = len(vocabulary)
    bytewise = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "padding_side": "left"}
    return PreTrainedTokenizerFast(tokenizer_object=bytewise, **special)


def marked(live, function, phase):
    def call(*args, **kwargs):
        live.enter(phase)
        return function(*args, **kwargs)

    return call


def unseen(function):
    """Let the counter sleep during a call."""

    def call(*args, **kwargs):
        with _disable_current_modes():
            return function(*args, **kwargs)

    return call


def saved_model(case, folder):
    """A model with random weights in a folder, for the reference model is loaded from there."""
    config = dict(case["model"])
    built = AutoConfig.for_model(config.pop("model_type"), **config, pad_token_id=0, eos_token_id=1)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(built).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def trainer_of(case, folder):
    arguments = case["arguments"]
    config = GRPOConfig(
        output_dir="out", max_steps=2, logging_steps=1, report_to=[], use_cpu=True, save_strategy="no", seed=1,
        generation_kwargs={"min_new_tokens": arguments["max_completion_length"]}, **arguments,
    )  # fmt: skip
    return GRPOTrainer(
        model=folder, args=config, processing_class=tokenizer(),
        reward_funcs=lambda completions, **_: [len(set(each)) / 10 for each in completions],
        train_dataset=Dataset.from_list([{"prompt": "x" * case["prompt_length"]}] * 64),
        peft_config=LoraConfig(**case["lora"]) if case.get("lora") else None,
    )  # fmt: skip


def measured(case, folder):
    """Most bytes by phase; `rest` is what is left after the last step."""
    trainer = trainer_of(case, saved_model(case, folder))
    live = Live()
    for model in (trainer.model, trainer.ref_model):
        for each in [*model.parameters(), *model.buffers()] if model is not None else []:
            live.add(each.data)
    trainer._prepare_inputs = unseen(trainer._prepare_inputs)
    trainer.compute_loss = marked(live, trainer.compute_loss, "update")
    trainer.add_callback(Phases(live))
    with live:
        trainer.train()
    return {"rest": live.live, **live.peaks}


def main():
    """Every case in its turn; each rank has a folder of its own."""
    for number, case in enumerate(CASES):
        folder = Path.cwd() / f"model-{os.environ.get('RANK', '0')}-{number}"
        print("RESULT " + json.dumps(measured(case, str(folder))), flush=True)
        gc.collect()


main()
