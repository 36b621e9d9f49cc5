"""Forty mistakes in real runs, each with what the first finding must hold: labels were written before the first run.

A program is run under `doctor run` with the real libraries. `must`: patterns, all of which stand in the first finding
(headline, explanation, evidence) when the decisive fact does. Where the pool has a case of the mistake, it is named.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One run.

    Args:
        stack: "real": one process of the real stack; "ranks": two of them by torchrun; "ray": Ray's actors.
        program: what is run, beside `tiny.py`.
        must: patterns of the decisive fact.
        source: the case of the pool that it is made after, "" for one of our own.

    """

    stack: str
    program: str
    must: tuple[str, ...]
    source: str = ""


def _real(program: str, *must: str, source: str = "") -> Mistake:
    return Mistake("real", "from tiny import *\n" + program.strip() + "\n", must, source)


def _ranks(program: str, *must: str, source: str = "") -> Mistake:
    return Mistake("ranks", "from tiny import *\n" + program.strip() + "\n", must, source)


_RAY = """
import ray, torch
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
"""


def _ray(program: str, *must: str, source: str = "") -> Mistake:
    return Mistake("ray", _RAY + program.strip() + "\n", must, source)


MISTAKES: dict[str, Mistake] = {
    # --- GRPO ---------------------------------------------------------------------------------------------------------
    "grpo-reward-one-short": _real(
        """
def drops_the_last(completions, **_):
    return [float(len(each)) for each in completions[:-1]]
grpo(drops_the_last)
""",
        r"\b2\b",
        r"\b1\b",
        r"drops_the_last|output_reward_func",
    ),
    "grpo-reward-returns-nothing": _real(
        """
def score_format(completions, **_):
    [len(each) for each in completions]
grpo(score_format)
""",
        r"None",
        r"score_format",
    ),
    "grpo-reward-column": _real(
        """
def right(completions, answer, **_):
    return [float(each == wanted) for each, wanted in zip(completions, answer)]
grpo(right, data=rows("prompt", "answers"))
""",
        r"`?answer`?",
        r"answers",
    ),
    "grpo-batch-of-generations": _real(
        """
grpo(lambda completions, **_: [0.0] * len(completions), per_device_train_batch_size=3, num_generations=4)
""",
        r"\b3\b",
        r"num_generations",
        r"\b4\b",
    ),
    "grpo-reward-key": _real(
        """
import json
def judged(completions, **_):
    told = [json.loads('{"points": 3, "why": "short"}') for _ in completions]
    return [each["score"] for each in told]
grpo(judged)
""",
        r"score",
        r"points",
    ),
    "grpo-reward-index": _real(
        """
def against(prompts, completions, **_):
    gold = sorted(set(prompts))
    return [float(len(gold[number])) for number in range(len(completions))]
grpo(against)
""",
        r"gold",
        r"\b1 element|\b1 个",
        r"number",
    ),
    "grpo-reward-shapes": _real(
        """
import torch
def similar(completions, **_):
    wanted, got = torch.ones(48), torch.ones(len(completions), 32)
    return (got @ wanted).tolist()
grpo(similar)
""",
        r"\[2, 32\]",
        r"\[48\]",
    ),
    "grpo-tokens-beyond-embedding": _real(
        """
words = tokenizer()
words.add_tokens([f"<tool{each}>" for each in range(4)])
def zero(completions, **_):
    return [0.0] * len(completions)
from datasets import Dataset
grpo(zero, data=Dataset.from_list([{"prompt": "<tool3> a"}] * 8), words=words)
""",
        r"\b258\b",
    ),
    "grpo-weights-of-rewards": _real(
        """
def one(completions, **_):
    return [1.0] * len(completions)
def two(completions, **_):
    return [2.0] * len(completions)
grpo([one, two], reward_weights=[1.0, 0.5, 0.2])
""",
        r"\b3\b",
        r"\b2\b",
        r"reward_weights|reward weights",
    ),
    "grpo-own-loss-shape": _real(
        """
from trl import GRPOTrainer
class Own(GRPOTrainer):
    def _compute_loss(self, model, inputs):
        mask = inputs["completion_mask"]
        weights = mask.new_ones(mask.shape[0], mask.shape[1] + 1).float()
        return (weights * mask).mean()
grpo(lambda completions, **_: [float(len(each)) for each in completions], trainer=Own)
""",
        r"weights",
        r"\[2, 7\]|7",
        r"mask",
        r"\[2, 6\]|6",
    ),
    "grpo-reward-in-pool": _real(
        """
from concurrent.futures import ProcessPoolExecutor
LIMIT = 3
def checked(text):
    if len(text) > LIMIT:
        raise ValueError("the text cannot be checked")
    return 1.0
def pooled(completions, **_):
    with ProcessPoolExecutor(1) as pool:
        return list(pool.map(checked, [each + "....." for each in completions]))
if __name__ == "__main__":
    grpo(pooled)
""",
        r"LIMIT",
        r"\b3\b",
        r"len\(text\)",
    ),
    # --- SFT ----------------------------------------------------------------------------------------------------------
    "sft-column": _real(
        """
sft(data=rows("content", "origin"))
""",
        r"content",
        r"text",
    ),
    "sft-nothing-trains": _real(
        """
made = model()
made.requires_grad_(False)
sft(made=made)
""",
        r"None of the [\d,]+ parameters",
    ),
    "sft-labels-missing": _real(
        """
from trl import SFTTrainer
class Own(SFTTrainer):
    def compute_loss(self, model, inputs, **_):
        inputs.pop("labels")
        loss = model(**inputs).loss
        return loss.mean()
sft(trainer=Own)
""",
        r"`loss` is None|loss.{0,12}None",
    ),
    "sft-double-head": _real(
        """
import torch
made = model()
made.lm_head = torch.nn.Linear(32, 258, bias=False, dtype=torch.float64)
made.config.tie_word_embeddings = False
sft(made=made)
""",
        r"float64|double",
        r"float32|float\b",
        r"lm_head|weight",
    ),
    "sft-class-weights": _real(
        """
import torch
from trl import SFTTrainer
class Own(SFTTrainer):
    def compute_loss(self, model, inputs, **_):
        labels = inputs.pop("labels")
        logits = model(**inputs).logits
        balance = torch.ones(256)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), weight=balance)
sft(trainer=Own)
""",
        r"\b256\b",
        r"\b258\b",
        r"balance|weight",
    ),
    "sft-adapter-targets": _real(
        """
from peft import LoraConfig
sft(also={"peft_config": LoraConfig(target_modules=["query_key_value"], task_type="CAUSAL_LM")})
""",
        r"query_key_value",
        r"Qwen2|q_proj",
        source="tests/pool: peft-llama-targets-on-bloom",
    ),
    "sft-eval-without-data": _real(
        """
sft(eval_strategy="steps", eval_steps=1)
""",
        r"eval_dataset",
        r"eval_strategy",
        r"steps",
    ),
    "sft-callback-field": _real(
        """
from transformers import TrainerCallback
class Own(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step > args.warm_budget:
            control.should_training_stop = True
sft(also={"callbacks": [Own()]})
""",
        r"warm_budget",
        r"SFTConfig",
    ),
    "sft-field-none": _real(
        """
from trl import SFTTrainer
class Own(SFTTrainer):
    def training_step(self, model, inputs, *more):
        share = self.state.global_step / self.args.eval_accumulation_steps
        return super().training_step(model, inputs, *more) * (1 + share)
sft(trainer=Own)
""",
        r"eval_accumulation_steps",
        r"None",
    ),
    "sft-loader-worker": _real(
        """
import torch
class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.files = ["a", "b", "c"]
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return {"input_ids": [ord(self.files[index])] * 4, "labels": [1] * 4}
from transformers import Trainer, TrainingArguments
Trainer(model=model(), args=TrainingArguments(**{**COMMON, "dataloader_num_workers": 1}),
        train_dataset=Rows()).train()
""",
        r"self\.files",
        r"\b3\b",
        r"index",
    ),
    "sft-positions": _real(
        """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from datasets import Dataset
torch.set_num_threads(1)
made = GPT2LMHeadModel(GPT2Config(vocab_size=258, n_positions=16, n_embd=32, n_layer=1, n_head=2))
sft(made=made, data=Dataset.from_list([{"text": "x" * 40}] * 8), max_length=32)
""",
        r"\b16\b",
    ),
    "sft-metrics-shape": _real(
        """
def accuracy(told):
    predictions, labels = told
    right = predictions.argmax(-1)[:, :-1] == labels
    return {"accuracy": float((right & (labels[:, 1:] >= 0)).mean())}
sft(also={"eval_dataset": rows("text"), "compute_metrics": accuracy}, eval_strategy="steps", eval_steps=1)
""",
        r"right",
        r"labels",
        r"\[8, \d+\]|\(8, ?\d+\)|shape",
    ),
    "sft-collator-ragged": _real(
        """
import torch
def collate(rows):
    return {"input_ids": torch.stack([torch.tensor(each["input_ids"]) for each in rows]),
            "labels": torch.stack([torch.tensor(each["input_ids"]) for each in rows])}
from datasets import Dataset
sft(data=Dataset.from_list([{"text": "x" * (3 + number)} for number in range(8)]), also={"data_collator": collate})
""",
        r"stack",
        r"\b\d+\b.{0,80}\b\d+\b",
        r"rows|input_ids",
    ),
    "sft-reshape": _real(
        """
from trl import SFTTrainer
class Own(SFTTrainer):
    def compute_loss(self, model, inputs, **_):
        logits = model(**inputs).logits
        groups = logits.view(-1, 250)
        return groups.float().mean()
sft(trainer=Own)
""",
        r"logits",
        r"258",
        r"250",
    ),
    # --- DPO ----------------------------------------------------------------------------------------------------------
    "dpo-column": _real(
        """
dpo(data=rows("prompt", "chosen", "refused"))
""",
        r"rejected",
        r"refused",
    ),
    "dpo-reference-vocabulary": _real(
        """
dpo(also={"ref_model": model(vocab_size=64)})
""",
        r"\b64\b",
    ),
    "dpo-own-weights": _real(
        """
import torch
from trl import DPOTrainer
class Own(DPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        loss = super().compute_loss(model, inputs, return_outputs=False, **more)
        importance = torch.ones(5)
        margins = torch.ones(inputs["input_ids"].shape[0])
        return loss * (importance * margins).mean()
dpo(trainer=Own)
""",
        r"importance",
        r"\[5\]|\b5\b",
        r"margins",
        r"\[4\]|\b4\b",
    ),
    "dpo-beta-none": _real(
        """
dpo(beta=None)
""",
        r"beta",
        r"None",
    ),
    # --- two ranks ----------------------------------------------------------------------------------------------------
    "ranks-odd-file": _ranks(
        """
import json, os
rank = int(os.environ["RANK"])
open("shard0.json", "w").write('[{"text": "a"}]')
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
def load(shard):
    path = f"shard{shard}.json"
    return json.load(open(path))
load(rank)
dist.barrier()
""",
        r"rank 1",
        r"shard1\.json",
    ),
    "ranks-odd-batch": _ranks(
        """
import os
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def step(batch, wanted):
    if batch.shape[0] != wanted:
        raise ValueError("the batch has another size")
    dist.all_reduce(batch.sum())
for number in range(3):
    step(torch.ones(4 - (rank == 1 and number == 2), 8), 4)
""",
        r"rank 1",
        r"\b3\b",
        r"\b4\b",
    ),
    "ranks-one-leaves": _ranks(
        """
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def begin(rows, needed):
    if rows < needed:
        sys.exit(3)
    dist.barrier()
begin(100 if rank == 0 else 17, 64)
""",
        r"rank 1",
        r"\b17\b",
        r"\b64\b",
    ),
    "ranks-unused-parameters": _ranks(
        """
import torch
from accelerate import Accelerator
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.main, self.critic_head = torch.nn.Linear(8, 2), torch.nn.Linear(8, 1)
    def forward(self, rows):
        return self.main(rows)
accelerator = Accelerator(cpu=True)
two = Two()
two, optimizer = accelerator.prepare(two, torch.optim.SGD(two.parameters(), 0.1))
for _ in range(2):
    accelerator.backward(two(torch.ones(2, 8)).sum())
    optimizer.step()
    optimizer.zero_grad()
""",
        r"critic_head",
    ),
    "ranks-gather-none": _ranks(
        """
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
def reduced(metrics):
    return accelerator.gather(metrics)
reduced({"reward": torch.ones(2), "kl": None if accelerator.process_index == 1 else torch.ones(2)})
""",
        r"kl",
        r"None",
    ),
    # --- DeepSpeed ----------------------------------------------------------------------------------------------------
    "deepspeed-batch": _real(
        """
import os, torch, deepspeed
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29719")
made = torch.nn.Linear(8, 2)
deepspeed.initialize(model=made, optimizer=torch.optim.SGD(made.parameters(), 0.1),
    config={"train_batch_size": 16, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})
""",
        r"\b16\b",
        r"\b2\b",
        r"\b4\b",
        source="tests/pool: accelerate-deepspeed-world-one",
    ),
    "deepspeed-input": _real(
        """
import os, torch, deepspeed
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29723")
made = torch.nn.Linear(8, 2)
engine, *_ = deepspeed.initialize(model=made, optimizer=torch.optim.SGD(made.parameters(), 0.1),
    config={"train_batch_size": 4, "train_micro_batch_size_per_gpu": 4})
engine(torch.ones(4, 7))
""",
        r"\[4, 7\]",
        r"\[2, 8\]",
    ),
    # --- Ray ----------------------------------------------------------------------------------------------------------
    "ray-actor-shapes": _ray(
        """
@ray.remote
class Critic:
    def __init__(self):
        self.weights = torch.ones(8, 2)
    def value(self, states):
        return states @ self.weights
critic = Critic.remote()
ray.get(critic.value.remote(torch.ones(4, 7)))
""",
        r"\[4, 7\]",
        r"\[8, 2\]",
        r"self\.weights",
    ),
    "ray-actor-not-loaded": _ray(
        """
@ray.remote
class Rollout:
    def __init__(self):
        self.engine = None
    def load(self):
        self.engine = object()
    def generate(self, prompts):
        return self.engine.generate(prompts)
ray.get(Rollout.remote().generate.remote(["a"]))
""",
        r"self\.engine",
        r"None",
    ),
    "ray-actor-key": _ray(
        """
@ray.remote
class Worker:
    def __init__(self, config):
        self.config = config
    def step(self):
        return self.config["rollout_n"] * 2
ray.get(Worker.remote({"rollout.n": 4, "seed": 1}).step.remote())
""",
        r"rollout_n",
        r"rollout\.n",
    ),
    "ray-actor-divides": _ray(
        """
@ray.remote
class Worker:
    def split(self, batch, groups):
        if batch % groups:
            raise ValueError("the batch cannot be split")
        return batch // groups
ray.get(Worker.remote().split.remote(10, 4))
""",
        r"\b10\b",
        r"\b4\b",
        r"groups",
    ),
}
