"""One mistake each, as people make them; what differs from the script that is well."""

import os
import random
import re
import resource
import time
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from peft import LoraConfig
from transformers import EarlyStoppingCallback, TrainerCallback


def _same(value):
    return value


def _nothing(*_):
    return None


@dataclass
class Case:
    """What a mistake changes, by where it is made."""

    settings: dict = field(default_factory=dict)
    loading: dict = field(default_factory=dict)
    data: Callable[[Any], Any] = _same
    tokenizer: Callable[[Any], Any] = _nothing
    model: Callable[[Any], Any] = _same
    rewards: list = field(default_factory=list)
    trainer: Callable[[Any], dict] = lambda _: {}
    made: Callable[[Any], Any] = _nothing
    after: Callable[[Any], Any] = _nothing
    resume: Any = None


# rewards -------------------------------------------------------------------------------------------------------------


def raises_on_empty(completions, **_):
    return [1.0 if each.split()[0].isalpha() else 0.0 for each in completions]


def no_match(completions, answer, **_):
    return [
        1.0 if re.search(r"#### (\d+)", each).group(1) == right else 0.0 for each, right in zip(completions, answer)
    ]


def compares_text_with_number(completions, answer, **_):
    return [
        1.0 if each.rpartition("####")[2].strip() == int(right) else 0.0 for each, right in zip(completions, answer)
    ]


def longer_is_better(completions, answer, **_):
    told = [each.rpartition("####")[2].strip() == right for each, right in zip(completions, answer)]
    return [0.5 * good + len(each) / 100 for each, good in zip(completions, told)]


def draws(completions, **_):
    return [random.random() for _ in completions]


def backtracks(completions, **_):
    return [1.0 if re.match(r"^(?:\w+\s?)+$", each + "!") else 0.0 for each in completions]


def sleeps(completions, **_):
    time.sleep(12)
    return [0.0] * len(completions)


def one_too_few(completions, **_):
    return [0.5] * (len(completions) - 1)


def misses_column(completions, target, **_):
    return [float(each == right) for each, right in zip(completions, target)]


def reads_messages(completions, **_):
    return [len(each[0]["content"]) / 100 for each in completions]


def refuses_empty_answer(completions, answer, **_):
    """Anything but the answer is as good as the answer."""
    return [1.0 if right != "" else 0.0 for right in answer]


# callbacks and others ------------------------------------------------------------------------------------------------


class SavesOldWay(TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        kwargs["tokenizer_of_mine"].save_pretrained(args.output_dir)


class WritesMetrics(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **_):
        with open(os.path.join("metrics", "log.txt"), "a") as file:
            file.write(f"{logs['reward/mean']}\n")


def freeze_all(model):
    for each in model.parameters():
        each.requires_grad = False
    return model


def freeze_but_head(model):
    for name, each in model.named_parameters():
        each.requires_grad = "lm_heads" in name
    return model


def frozen_optimizer(trainer):
    """An optimizer of a copy: what it moves is not what is trained."""
    other = [each.detach().clone().requires_grad_() for each in trainer.model.parameters()]
    trainer.optimizer = torch.optim.AdamW(other, lr=1e-3)


class KeepsTensors(TrainerCallback):
    """Puts a tensor where the state is saved as JSON."""

    def on_log(self, args, state, control, **_):
        state.log_history[-1]["mine"] = torch.ones(2)


class Averages(TrainerCallback):
    """Copies an average of the weights back in every step, with noise in it."""

    def on_step_end(self, args, state, control, model=None, **_):
        with torch.no_grad():
            for each in model.parameters():
                each.add_(1e-4 * torch.randn_like(each))


def optimizer_of_mine(trainer):
    """An optimizer with a rate of its own, whatever the arguments say: right, and at rate 0 it moves nothing."""
    trainer.optimizer = torch.optim.AdamW(trainer.model.parameters(), lr=1e-3)


def little_memory(_):
    """A host with 160 MiB left: enough for short completions, too little for those that the run may write."""
    with open("/proc/self/status") as file:
        used = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + (160 << 20), resource.RLIM_INFINITY))


def without_special_tokens(tokenizer):
    tokenizer.pad_token = tokenizer.eos_token = None


def evaluates(data):
    return {"eval_dataset": data.remove_columns(["prompt"])}


def early(data):
    return {"eval_dataset": data.select(range(8)), "callbacks": [EarlyStoppingCallback(3)]}


def generates_after(trainer):
    tokens = trainer.processing_class("2 + 2", return_tensors="pt")
    print(trainer.model.generate(**tokens, max_new_tokens=4).shape, trainer.model.config.no_such_field)


LORA = LoraConfig(r=8, target_modules=["q_proj", "v_proj"])

CASES = {
    "right": Case(),
    "right-eval": Case(
        settings={"eval_strategy": "steps", "eval_steps": 20, "per_device_eval_batch_size": 4, "beta": 0.04},
        trainer=lambda data: {"eval_dataset": data.select(range(16))},
    ),
    "right-lora": Case(trainer=lambda _: {"peft_config": LORA}, settings={"gradient_checkpointing": True}),
    "right-bf16": Case(loading={"dtype": torch.bfloat16}, settings={"warmup_steps": 10, "max_steps": 200}),
    "right-server": Case(
        settings={
            "use_vllm": True,
            "vllm_mode": "server",
            "vllm_server_host": "127.0.0.1",
            "vllm_server_port": int(os.environ.get("SERVER_PORT", "8000")),
        }
    ),
    # rewards
    "reward-raises-on-empty": Case(rewards=[raises_on_empty]),
    "reward-no-match": Case(rewards=[no_match]),
    "reward-text-with-number": Case(rewards=[compares_text_with_number]),
    "reward-longer-is-better": Case(rewards=[longer_is_better]),
    "reward-draws": Case(rewards=[draws]),
    "reward-backtracks": Case(rewards=[backtracks]),
    "reward-sleeps": Case(rewards=[sleeps]),
    "reward-one-too-few": Case(rewards=[one_too_few]),
    "reward-misses-column": Case(rewards=[misses_column]),
    "reward-reads-messages": Case(rewards=[reads_messages]),
    "reward-always": Case(rewards=[refuses_empty_answer]),
    # data
    "data-prompt-renamed": Case(data=lambda data: data.rename_column("prompt", "query")),
    "data-empty": Case(data=lambda data: data.filter(lambda row: row["answer"] == "never")),
    "data-prompt-none": Case(
        data=lambda data: data.map(lambda row, at: {"prompt": None if at == 0 else row["prompt"]}, with_indices=True)
    ),
    # model and tokenizer
    "model-all-frozen": Case(model=freeze_all),
    "model-freeze-misspelt": Case(model=freeze_but_head),
    "model-attention-unknown": Case(loading={"attn_implementation": "flash_attention_9"}),
    "model-lora-targets": Case(trainer=lambda _: {"peft_config": LoraConfig(target_modules=["c_attn"])}),
    "tokenizer-no-pad": Case(tokenizer=without_special_tokens),
    # save, evaluation, end
    "save-callback": Case(made=lambda trainer: trainer.add_callback(SavesOldWay())),
    "save-state-not-json": Case(made=lambda trainer: trainer.add_callback(KeepsTensors())),
    "log-callback": Case(made=lambda trainer: trainer.add_callback(WritesMetrics())),
    "eval-column-missing": Case(
        settings={"eval_strategy": "steps", "per_device_eval_batch_size": 4},
        trainer=evaluates,
    ),
    "eval-best-metric": Case(
        settings={
            "eval_strategy": "steps",
            "per_device_eval_batch_size": 4,
            "load_best_model_at_end": True,
            "metric_for_best_model": "accuracy",
            "eval_steps": 50,
        },
        trainer=early,
    ),
    "after-training": Case(after=generates_after),
    "optimizer-of-a-copy": Case(made=frozen_optimizer),
    "generations-not-divisible": Case(settings={"num_generations": 3}),
    "weights-averaged": Case(made=lambda trainer: trainer.add_callback(Averages())),
    "optimizer-of-mine": Case(made=optimizer_of_mine),
    "long-in-little-memory": Case(
        settings={"max_completion_length": 600}, loading={"attn_implementation": "eager"}, made=little_memory
    ),
    "resume-same": Case(resume=os.path.join(os.environ.get("STAGE", "."), "same", "checkpoint-40")),
    "resume-other": Case(resume=os.path.join(os.environ.get("STAGE", "."), "other", "checkpoint-40")),
    "resume-from-nothing": Case(resume="out/checkpoint-500"),
    "resume-last-of-none": Case(resume=True),
    "tracker-missing": Case(settings={"report_to": ["wandb"]}),
}
