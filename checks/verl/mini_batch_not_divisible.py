"""The mini-batch of one GPU does not divide into micro-batches.

## What it means
veRL multiplies `ppo_mini_batch_size` by `rollout.n`, shares the result among the GPUs (those of one
sequence parallel group count once), and cuts each share into micro-batches.
## What it does to a run
Every worker stops when it is made: `normalized ppo_mini_batch_size 12 should be divisible by
ppo_micro_batch_size_per_gpu 8`.
## What to do
Choose a micro-batch that divides the share of a GPU.
## How it is found
The composed values, by the arithmetic of veRL 0.4.0 to 0.6.1 with FSDP.
## References
https://github.com/verl-project/verl/blob/v0.5.0/verl/workers/fsdp_workers.py
https://github.com/verl-project/verl/blob/v0.6.1/verl/workers/fsdp_workers.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ACTOR, ROLLOUT, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="VRL006",
    name="verl-mini-batch-not-divisible",
    severity=ERROR,
    since="0.1",
    affects={"verl": ">=0.4,<0.7"},
)

SIGNATURES = (
    Signature(
        r"normalized ppo_mini_batch_size (?P<mini>\d{1,9}) should be (?:divisible by|larger than)"
        r" ppo_micro_batch_size_per_gpu (?P<micro>\d{1,9})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a mini-batch of {mini} per GPU does not divide into micro-batches of {micro}",
        "veRL divides ppo_mini_batch_size times rollout.n by the number of data-parallel ranks; "
        "{mini} is left per GPU, and {micro} does not fit into it evenly.",
        "Choose `ppo_micro_batch_size_per_gpu` as a divisor of {mini}, or change "
        "`ppo_mini_batch_size`; `use_dynamic_bsz=True` needs neither.",
    ),
    zh=Words(
        "每张 GPU 的 mini batch {mini} 无法分成大小为 {micro} 的 micro batch",
        "veRL 用 ppo_mini_batch_size 乘以 rollout.n 再除以数据并行数;每张 GPU 得 {mini},不能被 {micro} 整除。",
        "把 `ppo_micro_batch_size_per_gpu` 设为 {mini} 的约数,或修改 "
        "`ppo_mini_batch_size`;`use_dynamic_bsz=True` 则无此要求。",
    ),
)

MESSAGE = Message(
    en=Words(
        "A GPU's share of the mini-batch is {share} samples, no multiple of micro-batch {micro}",
        "The workers compute {mini} prompts x {answers} answers over {groups} GPUs or groups of GPUs, and stop with "
        "`normalized ppo_mini_batch_size {share} should be divisible by ppo_micro_batch_size_per_gpu {micro}`.",
        "Use a micro-batch that divides {share}, or another mini-batch.",
    ),
    zh=Words(
        "每张 GPU 的 mini-batch 份额为 {share} 个样本,不是 micro-batch {micro} 的倍数",
        "worker 按 {mini} 个 prompt x {answers} 个回答除以 {groups} 个 GPU(组)计算,并以 "
        "`normalized ppo_mini_batch_size {share} should be divisible by ppo_micro_batch_size_per_gpu {micro}` "
        "退出。",
        "使用能整除 {share} 的 micro-batch,或换一个 mini-batch。",
    ),
)


@check(PROBLEM)
def mini_batch_not_divisible(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The arithmetic of verl/workers/fsdp_workers.py, `normalize config`."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = (ACTOR + "ppo_mini_batch_size", ROLLOUT + "n", ACTOR + "ppo_micro_batch_size_per_gpu")
    mini, answers, micro = map(verl.number, keys)
    gpus, parallel = verl.gpus, verl.number(ACTOR + "ulysses_sequence_parallel_size") or 1
    if not mini or not answers or not micro or not gpus or not verl.is_fsdp or gpus % parallel:
        return
    if verl.is_on(ACTOR + "use_dynamic_bsz") is not False:
        return
    groups = gpus // parallel
    share = mini * answers // groups
    if share and share % micro == 0:
        return
    fitting = max((size for size in range(1, min(share, micro) + 1) if share % size == 0), default=1)
    yield found(
        PROBLEM,
        MESSAGE,
        share=share,
        micro=micro,
        mini=mini,
        answers=answers,
        groups=groups,
        where=place_of(*place_settings(verl, keys[2], keys[0], keys[1])),
        commands=(f"{keys[2]}={fitting}",) if share else (f"{keys[0]}={groups}",),
        evidence=verl.quoted(*keys, "trainer.n_gpus_per_node", "trainer.nnodes"),
    )
