"""GRPO of the tiny model, whole or broken in one place: grpo.py MODEL CASE."""

import sys

import tiny
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

MODEL, CASE = sys.argv[1:3]
GREEDY = {"generation_kwargs": {"do_sample": False}}
HUGE = {"learning_rate": 1e30, "max_grad_norm": 0.0, "lr_scheduler_type": "constant"}
#: what differs from a run that works, by case; nobody listens on port 9
CONFIG = {
    "groups": {"num_generations": 3},
    "one-generation": {"num_generations": 1},
    "old-name": {"evaluation_strategy": "steps"},
    "removed-argument": {"max_prompt_length": 64},
    "misspelt-argument": {"num_generation": 4},
    "bf16-without-gpu": {"bf16": True, "use_cpu": False},
    "both-batch-arguments": {"generation_batch_size": 8, "steps_per_generation": 2},
    "eval-without-data": {"eval_strategy": "steps"},
    "vllm-not-installed": {"use_vllm": True, "vllm_mode": "server"},
    "server-not-running": {
        "use_vllm": True,
        "vllm_mode": "server",
        "vllm_server_timeout": 4,
        "vllm_server_port": 9,
    },
    "resume-from-nothing": {},
    "eight-bit-optimizer": {"optim": "adamw_bnb_8bit"},
    "huge-learning-rate": HUGE,
    "nan-greedy": GREEDY,
    "nan-greedy-unfiltered": {**GREEDY, "logging_nan_inf_filter": False},
    "no-learning-rate": {"learning_rate": 0.0, "max_steps": 12},
    "clipped": {"max_completion_length": 4, "max_steps": 24},
    "equal-rewards": {"max_steps": 12},
}
SMALL = {
    "per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 16, "max_steps": 6,
    "logging_steps": 1, "learning_rate": 1e-3, "report_to": [], "use_cpu": True, "bf16": False,
    "save_strategy": "no", "seed": 1,
}  # fmt: skip


def raises(completions, answer=None, **_):
    return [float(each == {}["answer"]) for each in completions]


def reward():
    """The reward function of the case."""
    return {
        "reward-raises": raises,
        "reward-texts": lambda completions, **_: ["good"] * len(completions),
        "reward-scalar": lambda completions, **_: 1.0,
        "reward-too-few": lambda completions, **_: [1.0],
        "reward-not-callable": 1.0,
        "nan-rewards": lambda completions, **_: [float("nan")] * len(completions),
        "none-rewards": lambda completions, **_: [None] * len(completions),
        "equal-rewards": lambda completions, **_: [1.0] * len(completions),
    }.get(CASE, tiny.variety)


def dataset():
    """The prompts of the case."""
    if CASE == "no-prompt-column":
        return tiny.sums().rename_column("prompt", "question")
    if CASE == "empty-dataset":
        return tiny.sums().select([])
    if CASE == "no-chat-template":
        return Dataset.from_list([{"prompt": [{"role": "user", "content": "hi"}]}] * 8)
    return tiny.sums()


def others():
    """Arguments of the trainer that only some cases have."""
    if CASE == "tokenizer-argument":
        return {"tokenizer": tiny.tokenizer()}
    if CASE == "no-pad-token":
        return {"processing_class": tiny.tokenizer(pad_token=None, eos_token=None)}
    if CASE == "no-processing-class":
        return {}
    if CASE == "lora-target":
        return {"processing_class": tiny.tokenizer(), "peft_config": LoraConfig(target_modules=["c_attn"])}
    return {"processing_class": tiny.tokenizer()}


class Poison(TrainerCallback):
    """Makes one weight NaN after the third step."""

    def on_step_end(self, args, state, control, model=None, **_):
        if state.global_step == 3:
            with torch.no_grad():
                model.lm_head.weight[7, 5] = float("nan")


config = GRPOConfig(output_dir="out", **{**SMALL, **CONFIG.get(CASE, {})})
trainer = GRPOTrainer(model=MODEL, reward_funcs=reward(), args=config, train_dataset=dataset(), **others())
if CASE.startswith("nan-greedy") or CASE == "nan-weight":
    trainer.add_callback(Poison())
trainer.train(resume_from_checkpoint="out/checkpoint-500" if CASE == "resume-from-nothing" else None)
print("finished")
