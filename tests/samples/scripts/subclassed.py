from dataclasses import dataclass, field
from typing import Optional

import torch
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class MyArguments(TrainingArguments):
    cache_dir: Optional[str] = field(default=None)
    optim: str = field(default="adamw_torch")
    model_max_length: int = 2048


@dataclass
class ModelArguments:
    model_name_or_path: str = "facebook/opt-125m"


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, **kwargs):
        return model(**inputs).loss


def train():
    parser = HfArgumentParser((ModelArguments, MyArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path, cache_dir=training_args.cache_dir)
    trainer = WeightedTrainer(model=model, args=training_args)
    trainer.train()


train()
