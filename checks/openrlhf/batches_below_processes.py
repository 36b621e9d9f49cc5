"""There are fewer sample batches than actor processes.

## What it means
Every actor process must get at least one micro-batch of a rollout: samples per prompt x rollout batch /
micro rollout batch, against the actor's GPUs (divided by ring attention and tensor parallelism).
## What it does to a run
OpenRLHF ends with an AssertionError before anything is started.
## What to do
Raise the rollout batch or the samples per prompt, or lower the micro rollout batch.
## How it is found
In a log: by OpenRLHF's assertion.
## References
https://github.com/OpenRLHF/OpenRLHF/blob/main/openrlhf/cli/train_ppo_ray.py
https://openrlhf.readthedocs.io/en/latest/rl.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="ORL003", name="batches-below-processes", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: The number of sample batches must be greater than or equal to the effective"
        r" number of actor processes",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a rollout makes fewer micro-batches than there are actor processes",
        "`n_samples_per_prompt` x `rollout_batch_size` / `micro_rollout_batch_size` must reach "
        "`actor_num_nodes` x `actor_num_gpus_per_node` (divided by ring attention and tensor "
        "parallelism).",
        "Raise `--rollout_batch_size` or `--n_samples_per_prompt`, lower `--micro_rollout_batch_size`, "
        "or use fewer actor GPUs.",
    ),
    zh=Words(
        "一次 rollout 产生的微批少于 actor 进程数",
        "`n_samples_per_prompt` x `rollout_batch_size` / `micro_rollout_batch_size` 必须不小于 "
        "`actor_num_nodes` x `actor_num_gpus_per_node`(除以 ring attention 和张量并行度)。",
        "提高 `--rollout_batch_size` 或 `--n_samples_per_prompt`,降低 `--micro_rollout_batch_size`,或使用"
        "更少的 actor GPU。",
    ),
)
