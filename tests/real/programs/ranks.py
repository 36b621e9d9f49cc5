"""GRPO in two processes, of which rank 1 may come to grief after the second step: ranks.py MODEL CASE."""

import os
import signal
import sys
import time
from datetime import timedelta

import tiny
import torch
from torch.distributed.elastic.multiprocessing.errors import record
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

MODEL, CASE = sys.argv[1:3]
RANK = int(os.environ["RANK"])


def come_to_grief():
    if CASE in {"raises", "recorded"}:
        raise RuntimeError("the reward server answered 502")
    if CASE == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if CASE == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if CASE == "exits":
        os._exit(3)
    if CASE == "hangs":
        time.sleep(3600)


class Grief(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 2 and RANK == 1:
            come_to_grief()


def main():
    config = GRPOConfig(
        output_dir="out", per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=4,
        logging_steps=1, learning_rate=1e-3, report_to=[], use_cpu=True, bf16=False, save_strategy="no", seed=1,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=MODEL, reward_funcs=tiny.variety, args=config, train_dataset=tiny.sums(),
        processing_class=tiny.tokenizer(), callbacks=[Grief()],
    )  # fmt: skip
    trainer.train()
    print(f"rank {RANK} finished")
    # gloo's threads otherwise run until the interpreter is gone, and now and then end the process with SIGABRT
    # https://docs.pytorch.org/docs/stable/distributed.html#shutdown
    torch.distributed.destroy_process_group()


if CASE == "hangs":
    # the group of the trainer keeps gloo's half hour whatever `ddp_timeout` says, so make it first
    torch.distributed.init_process_group("gloo", timeout=timedelta(seconds=15))
(record(main) if CASE == "recorded" else main)()
