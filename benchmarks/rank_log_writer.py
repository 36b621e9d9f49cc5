"""Writes logs of one file a rank, as a launcher with many ranks leaves them: one rank fails, the others wait for it."""

from __future__ import annotations

import os
from pathlib import Path

from log_writer import Writer

#: what a rank prints that waited for another one in a collective; it does not name itself, for links share it
_WAITED = (
    "Traceback (most recent call last):\n"
    '  File "/home/user/train.py", line 210, in <module>\n'
    "    trainer.train()\n"
    '  File "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2810, in all_reduce\n'
    "    work = group.allreduce([tensor], opts)\n"
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 600000ms for "
    "recv operation to complete\n"
)
#: what the rank prints that failed first
_FAILED = (
    "Traceback (most recent call last):\n"
    '  File "/home/user/train.py", line 210, in <module>\n'
    "    trainer.train()\n"
    '  File "/home/user/rewards.py", line 31, in score\n'
    "    return 1.0 / lengths[index]\n"
    "ZeroDivisionError: float division by zero\n"
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
        _write(pool / f"content-{number:05}.txt", ranks, size, seed + number, _WAITED)
    _write(pool / "odd.txt", ranks, size, seed + odd, _FAILED)
    for rank in range(ranks):
        target = pool / ("odd.txt" if rank == odd else f"content-{rank % distinct:05}.txt")
        os.link(target, folder / f"rank{rank}.log")


def _write(path: Path, ranks: int, size: int, seed: int, end: str) -> None:
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
    path.write_text("".join(parts) + end)
