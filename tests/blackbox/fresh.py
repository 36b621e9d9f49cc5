"""Ten mistakes more, written with their labels before any of them had run; as in `mistakes.py`."""

from __future__ import annotations

from tests.blackbox.mistakes import Mistake

_HEAD = "from tiny import *\n"


def _real(program: str, *must: str) -> Mistake:
    return Mistake("real", _HEAD + program.strip() + "\n", must)


def _ranks(program: str, *must: str) -> Mistake:
    return Mistake("ranks", _HEAD + program.strip() + "\n", must)


FRESH: dict[str, Mistake] = {
    "new-reward-dictionary": _real(
        """
def graded(completions, **_):
    return {"score": [1.0] * len(completions)}
grpo(graded)
""",
        r"graded",
        r"\bdict\b",
    ),
    "new-mask-one-longer": _real(
        """
import torch
def collate(rows):
    width = max(len(each["input_ids"]) for each in rows)
    ids = torch.ones(len(rows), width, dtype=torch.long)
    return {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones(len(rows), width + 1)}
sft(also={"data_collator": collate})
""",
        r"attention_mask|mask",
        r"\b5\b",
        r"\b6\b",
    ),
    "new-row-without-chosen": _real(
        """
from datasets import Dataset
told = [{"prompt": "a", "chosen": "b", "rejected": "c"}] * 7 + [{"prompt": "a", "chosen": None, "rejected": "c"}]
dpo(data=Dataset.from_list(told))
""",
        r"chosen",
        r"None",
    ),
    "new-gather-of-tokens": _real(
        """
from trl import SFTTrainer
class Own(SFTTrainer):
    def compute_loss(self, model, inputs, **_):
        logits = model(input_ids=inputs["input_ids"]).logits
        wanted = inputs["input_ids"]
        return -logits.log_softmax(-1).gather(-1, wanted).mean()
sft(trainer=Own)
""",
        r"wanted",
        r"logits|log_softmax|dimension",
        r"\[2, \d+\]|2 dim",
    ),
    "new-rank-without-key": _ranks(
        """
import os
import torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
config = {"lr": 0.1, "steps": 2} if rank == 0 else {"steps": 2}
def begin(config):
    rate = config["lr"]
    dist.barrier()
begin(config)
""",
        r"rank 1",
        r"`?lr`?",
        r"steps",
    ),
    "new-deepspeed-two-precisions": _real(
        """
import os, torch, deepspeed
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29737")
made = torch.nn.Linear(8, 2)
deepspeed.initialize(model=made, optimizer=torch.optim.SGD(made.parameters(), 0.1),
    config={"train_batch_size": 4, "fp16": {"enabled": True}, "bf16": {"enabled": True}})
""",
        r"fp16",
        r"bf16|bfloat16",
    ),
    "new-head-on-meta": _real(
        """
import torch
from transformers import Trainer, TrainingArguments
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4, device="meta"), persistent=False)
    def forward(self, rows, labels=None):
        out = self.body(rows) * self.scale
        return {"loss": out.sum()}
from datasets import Dataset
Trainer(model=Two(), args=TrainingArguments(**COMMON),
        train_dataset=Dataset.from_list([{"rows": [1.0] * 4}] * 8)).train()
""",
        r"\bmeta\b",
        r"scale",
    ),
    "new-rank-with-fewer-rows": _ranks(
        """
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
shard = list(range(6 if accelerator.process_index == 0 else 5))
def take(shard, number):
    return shard[number]
for number in range(6):
    accelerator.gather(torch.tensor([float(take(shard, number))]))
""",
        r"rank 1",
        r"shard",
        r"\b5\b",
    ),
    "new-schedule-divides": _real(
        """
from transformers import TrainerCallback
class Own(TrainerCallback):
    def on_step_begin(self, args, state, control, **_):
        share = state.max_steps / args.dataloader_num_workers
sft(also={"callbacks": [Own()]})
""",
        r"dataloader_num_workers",
        r"\b0\b",
    ),
    "new-weights-of-another-size": _real(
        """
import torch
torch.save(model(vocab_size=64).state_dict(), "kept.pt")
made = model()
made.load_state_dict(torch.load("kept.pt"))
sft(made=made)
""",
        r"\b64\b",
        r"\b258\b",
        r"embed_tokens|lm_head",
    ),
}
