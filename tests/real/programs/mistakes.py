"""Mistakes whose decisive fact no traceback holds: mistakes.py MODEL CASE, on one rank or on several."""

import os
import sys
from dataclasses import dataclass, field
from multiprocessing import Pool
from typing import Optional

import tiny
import torch
from datasets import Dataset
from transformers import Trainer, TrainingArguments
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

MODEL, CASE = sys.argv[1:3]
RANK = int(os.environ.get("RANK", "0"))


@dataclass
class Shaping:
    """Settings of the reward."""

    scale: float = 1.0
    penalty: Optional[float] = None
    weights: list = field(default_factory=lambda: [0.5, 0.3])
    api_key: str = "sk-abcdefghijklmnopqrstuvwx"


SHAPING = Shaping(scale=2.0)
COMMON = {
    "output_dir": "out", "per_device_train_batch_size": 4, "max_steps": 3, "logging_steps": 1, "learning_rate": 1e-3,
    "report_to": [], "use_cpu": True, "bf16": False, "save_strategy": "no", "seed": 1,
}  # fmt: skip


def shaped(completions, **_):
    return [len(set(each)) * SHAPING.scale - len(each) * SHAPING.penalty for each in completions]


def weighted(completions, **_):
    return [sum(SHAPING.weights[place] * len(part) for place, part in enumerate(each[:3])) for each in completions]


def counted(completions, prompts, **_):
    rewards = [float(len(each)) for each in set(completions) | {"x", "y"}]
    assert len(rewards) == len(prompts)
    return rewards


def scored_elsewhere(completions, **_):
    with Pool(1) as pool:
        return pool.map(score, completions)


def score(text):
    table = {"short": 8, "long": 64}
    return table["short"] / (len(table) - 2)


def grpo(model=MODEL, reward=tiny.variety, cls=GRPOTrainer, **changes):
    config = GRPOConfig(**{**COMMON, "num_generations": 4, "max_completion_length": 8, **changes})
    return cls(
        model=model, reward_funcs=reward, args=config, train_dataset=tiny.sums(), processing_class=tiny.tokenizer()
    )


def texts(count=16):
    return Dataset.from_list([{"text": f"{number} and {number + 1} make {2 * number + 1}"} for number in range(count)])


def sft(model=MODEL, tokenizer=None, cls=SFTTrainer, data=None, **changes):
    config = SFTConfig(**{**COMMON, "max_length": 32, **changes})
    return cls(model=model, args=config, train_dataset=data or texts(), processing_class=tokenizer or tiny.tokenizer())


class Advantaged(GRPOTrainer):
    """A loss of one's own that takes the advantages for a column."""

    def _compute_loss(self, model, inputs):
        weights = inputs["advantages"].view(-1, 1, self.args.num_generations // 2)
        return super()._compute_loss(model, {**inputs, "advantages": weights})


class Valued(SFTTrainer):
    """A value head made for another width."""

    def compute_loss(self, model, inputs, *args, **kwargs):
        hidden = model(**inputs, output_hidden_states=True).hidden_states[-1]
        head = torch.nn.Linear(self.args.max_length // 2, 1)
        return head(hidden).mean()


class Sharded(SFTTrainer):
    """Every rank cuts its batch, and the last one gets another size."""

    def compute_loss(self, model, inputs, *args, **kwargs):
        rows = inputs["input_ids"].shape[0] - RANK
        logits = model(**{key: each[:rows] for key, each in inputs.items()}).logits
        target = torch.zeros(inputs["input_ids"].shape[0], 1)
        expected = target.shape[0]
        if logits.shape[0] != expected:
            raise RuntimeError("the batch of this rank does not fit its targets")
        return logits.mean()


def frozen_model():
    model = tiny.model()
    for each in model.parameters():
        each.requires_grad_(False)
    return model


def half_model():
    model = tiny.model()
    model.model.layers[1].mlp.to(torch.bfloat16)
    return model


def uneven(features):
    return {"input_ids": torch.stack([torch.tensor(each["input_ids"]) for each in features])}


def plain_trainer():
    data = Dataset.from_list([{"input_ids": list(range(2, 6 + number % 3)), "labels": [2]} for number in range(16)])
    arguments = TrainingArguments(**COMMON, dataloader_num_workers=1, remove_unused_columns=False)
    return Trainer(model=tiny.model(), args=arguments, train_dataset=data, data_collator=uneven)


def preferences():
    rows = [{"prompt": f"{n}+1=", "chosen": f"{n + 1}", "rejected": f"{n}"} for n in range(15)]
    return Dataset.from_list([*rows, {"prompt": "9+1=", "chosen": None, "rejected": "9"}])


def dpo():
    config = DPOConfig(**COMMON, max_length=32)
    return DPOTrainer(model=MODEL, args=config, train_dataset=preferences(), processing_class=tiny.tokenizer())


def leaves():
    batch, world = 6, int(os.environ.get("WORLD_SIZE", "1"))
    if RANK == 1 and batch % (world * 4):
        sys.exit(2)
    return grpo()


def wide_tokenizer():
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens(["<think>", "</think>"])
    return tokenizer


def tagged():
    rows = [{"text": f"<think>{number}</think>"} for number in range(16)]
    return Dataset.from_list(rows)


def misloaded():
    trainer = sft()
    other = torch.nn.Linear(4, 4)
    trainer.create_optimizer()
    trainer.optimizer.load_state_dict(torch.optim.AdamW(other.parameters()).state_dict())
    return trainer


MISTAKES = {
    "none-setting": lambda: grpo(reward=shaped),
    "index-beyond": lambda: grpo(reward=weighted),
    "assertion": lambda: grpo(reward=counted),
    "pool": lambda: grpo(reward=scored_elsewhere),
    "groups": lambda: grpo(generation_batch_size=8, num_generations=3),
    "advantages": lambda: grpo(cls=Advantaged),
    "value-head": lambda: sft(cls=Valued),
    "ranks-differ": lambda: sft(cls=Sharded),
    "frozen": lambda: sft(model=frozen_model(), gradient_checkpointing=False),
    "half": lambda: sft(model=half_model()),
    "embedding": lambda: sft(tokenizer=wide_tokenizer(), data=tagged()),
    "uneven": plain_trainer,
    "preference-none": dpo,
    "leaves": leaves,
    "optimizer-state": misloaded,
}

if __name__ == "__main__":
    MISTAKES[CASE]().train()
    print("finished")
