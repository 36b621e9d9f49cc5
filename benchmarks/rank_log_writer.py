"""Writes logs of one file a rank, as a launcher with many ranks leaves them: one rank fails, the others wait for it."""

from __future__ import annotations

import os
from pathlib import Path

from log_writer import Writer

#: what a rank prints that waited for another one in a collective
_WAITED = (
    "[rank{rank}]:[E1120 16:40:{second:02}.000000 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=4711, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, "
    "Timeout(ms)=600000) ran for 600{rank:03} milliseconds before timing out.\n"
    "[rank{rank}]: Traceback (most recent call last):\n"
    '[rank{rank}]:   File "/home/user/train.py", line 210, in <module>\n'
    "[rank{rank}]:     trainer.train()\n"
    '[rank{rank}]:   File "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2810, in '
    "all_reduce\n"
    "[rank{rank}]:     work = group.allreduce([tensor], opts)\n"
    "[rank{rank}]: torch.distributed.DistBackendError: [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=4711, OpType=ALLREDUCE, Timeout(ms)=600000)\n"
)
#: what the rank prints that failed first
_FAILED = (
    "[rank{rank}]: Traceback (most recent call last):\n"
    '[rank{rank}]:   File "/home/user/train.py", line 210, in <module>\n'
    "[rank{rank}]:     trainer.train()\n"
    '[rank{rank}]:   File "/home/user/rewards.py", line 31, in score\n'
    "[rank{rank}]:     return 1.0 / lengths[index]\n"
    "[rank{rank}]: ZeroDivisionError: float division by zero\n"
)


#: what the ranks print of a step; the first is the only one in most runs that prints it
_METRICS = ("loss", "grad_norm", "learning_rate", "reward", "reward_std", "kl", "entropy", "completions/mean_length")
_STEPS = 40


class RankWriter(Writer):
    """Makes the lines of one rank, in the proportions of a real run."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, [])
        self.kinds = (
            (self.rollout, 280), (self.vllm, 220), (self.nccl, 140), (self.bars, 100), (self.warning, 34),
        )  # fmt: skip

    def step_line(self, step: int) -> str:
        """The metrics of a step, with a stamp."""
        values = ", ".join(f"'{name}': {self.random.uniform(0.2, 0.4):.6g}" for name in _METRICS)
        return f"2025-11-20 16:{step % 40:02}:00,000 - INFO - train - {{{values}, 'step': {step}}}\n"


def write_rank_logs(folder: Path, ranks: int, size: int, *, distinct: int, odd: int, seed: int = 1) -> None:
    """Write a log for each rank.

    Args:
        folder: where; made where it is missing.
        ranks: how many files.
        size: bytes of each, about.
        distinct: different files; the others are links to these.
        odd: rank that failed first; its file is its own.
        seed: the same seed gives the same logs.

    """
    folder.mkdir(parents=True, exist_ok=True)
    pool = folder.parent / f"{folder.name}-content"
    pool.mkdir(exist_ok=True)
    for number in range(distinct):
        _write(pool / f"content-{number:05}.txt", number, ranks, size, seed + number, _WAITED)
    _write(pool / "odd.txt", odd, ranks, size, seed + odd, _FAILED)
    for rank in range(ranks):
        target = pool / ("odd.txt" if rank == odd else f"content-{rank % distinct:05}.txt")
        os.link(target, folder / f"rank{rank}.log")


def _write(path: Path, rank: int, ranks: int, size: int, seed: int, end: str) -> None:
    """What one rank prints: requests, rollouts, NCCL, bars, metric lines between them, and how it ended."""
    writer = RankWriter(seed)
    parts = [f"2025-11-20 16:00:00,000 - INFO - train - world_size={ranks}\n"]
    made = step = 0
    for text in writer.lines():
        parts.append(text)
        made += len(text)
        if made > size:
            break
        if made > size * step / _STEPS:
            step += 1
            parts.append(writer.step_line(step))
    path.write_text("".join(parts) + end.format(rank=rank, second=rank % 60))
