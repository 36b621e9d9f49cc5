"""Trains real sizes with TRL's GRPO on a GPU and prints the most bytes of each phase: peaks.py CASES-AS-JSON.

Phases: generation, update (forward and backward), step (the optimizer), as torch's allocator counts them: `allocated`
bytes of tensors; `card`: what NVML says is in use at the end, without the driver's own reserve.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "real" / "programs"))

import pynvml
import tiny
import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModelForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

CASES = json.loads(sys.argv[1])


class Peaks(TrainerCallback):
    """The peak of each phase."""

    def __init__(self):
        self.allocated, self.phase = {}, "rest"
        torch.cuda.reset_peak_memory_stats()

    def enter(self, phase):
        self.allocated[self.phase] = max(self.allocated.get(self.phase, 0), torch.cuda.max_memory_allocated())
        self.phase = phase
        torch.cuda.reset_peak_memory_stats()

    def on_pre_optimizer_step(self, *_, **__):
        self.enter("step")

    def on_step_end(self, *_, **__):
        self.enter("rest")


def saved_model(case, folder):
    """Random weights in a folder, for a reference model is loaded from there."""
    config = dict(case["model"])
    built = AutoConfig.for_model(config.pop("model_type"), **config, pad_token_id=0, eos_token_id=1)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(built, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def trainer_of(case, folder):
    arguments = case["arguments"]
    config = GRPOConfig(
        output_dir="out", max_steps=2, logging_steps=1, report_to=[], save_strategy="no", seed=1,
        generation_kwargs={"min_new_tokens": arguments["max_completion_length"]}, **arguments,
    )  # fmt: skip
    lora = None
    if case.get("lora"):
        from peft import LoraConfig

        lora = LoraConfig(**case["lora"])
    return GRPOTrainer(
        model=folder, args=config, processing_class=tiny.tokenizer(), reward_funcs=tiny.variety, peft_config=lora,
        train_dataset=Dataset.from_list([{"prompt": "x" * case["prompt_length"]}] * 64),
    )  # fmt: skip


def marked(peaks, function, phase):
    def call(*args, **kwargs):
        peaks.enter(phase)
        return function(*args, **kwargs)

    return call


def measured(case, folder):
    trainer = trainer_of(case, saved_model(case, folder))
    gc.collect()
    torch.cuda.empty_cache()
    peaks = Peaks()
    trainer._prepare_inputs = marked(peaks, trainer._prepare_inputs, "generation")
    trainer.compute_loss = marked(peaks, trainer.compute_loss, "update")
    trainer.add_callback(peaks)
    trainer.train()
    peaks.enter("rest")
    return {"allocated": peaks.allocated, "card": on_card()}


def on_card():
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    return pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2).used


for number, case in enumerate(CASES):
    try:
        found = measured(case, str(Path.cwd() / f"model-{number}"))
    except torch.OutOfMemoryError as error:
        found = {"error": str(error)[:300]}
    print("RESULT " + json.dumps({"name": case["name"], **found}), flush=True)
    gc.collect()
    torch.cuda.empty_cache()
