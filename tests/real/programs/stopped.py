"""A trainer whose loss is NaN from a forward pass on; it resumes from the newest checkpoint: stopped.py FIRST_BAD."""

import sys
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

FIRST_BAD = int(sys.argv[1])


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return {"x": torch.ones(4) * float(index % 3), "labels": torch.tensor(0.0)}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.passes = torch.nn.Linear(4, 1), 0

    def forward(self, x, labels=None):
        self.passes += 1
        loss = self.linear(x).pow(2).mean()
        return {"loss": loss * float("nan") if self.passes >= FIRST_BAD else loss}


settings = TrainingArguments(
    "out", max_steps=12, logging_steps=1, per_device_train_batch_size=4, use_cpu=True, report_to=[], disable_tqdm=True
)
trainer = Trainer(Model(), settings, train_dataset=Rows())
trainer.train(resume_from_checkpoint=any(Path("out").glob("checkpoint-*")) or None)
