"""The samples of a step cannot be shared evenly among the GPUs.

## What it means
`data.train_batch_size` prompts times `rollout.n` answers must be a multiple of the GPUs.
## What it does to a run
veRL stops at the start: `real_train_batch_size (100) must be divisible by minimal possible batch size (8)`.
## What to do
Change the batch, `n` or the number of GPUs.
## How it is found
The composed values. Megatron, and dynamic batch sizes from 0.6.0 on, follow other rules and are left alone.
## References
https://github.com/verl-project/verl/blob/v0.6.1/verl/utils/config.py
https://github.com/verl-project/verl/blob/v0.3.0.post1/verl/trainer/ppo/ray_trainer.py
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
    id="VRL003", name="verl-samples-not-divisible", severity=ERROR, since="0.1", affects={"verl": ">=0.2"}
)

SIGNATURES = (
    Signature(
        r"real_train_batch_size \((?P<samples>\d{1,9})\) must be divisible by (?:minimal possible"
        r" batch size|total n_gpus) \((?P<gpus>\d{1,6})\)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{samples} samples of a step do not divide among {gpus} GPUs",
        "train_batch_size times rollout.n gives {samples}, which {gpus} does not divide (with "
        "Megatron: the data-parallel size times the micro batch).",
        "Choose `data.train_batch_size` (or `actor_rollout_ref.rollout.n`) so that their product is "
        "a multiple of {gpus}, or change `trainer.n_gpus_per_node` and `trainer.nnodes`.",
    ),
    zh=Words(
        "一步的 {samples} 个样本无法平分给 {gpus} 张 GPU",
        "train_batch_size 乘以 rollout.n 得 {samples},不能被 {gpus} 整除(Megatron 下为数据并行数乘以 micro batch)。",
        "调整 `data.train_batch_size`(或 `actor_rollout_ref.rollout.n`)使乘积为 {gpus} 的倍数,或修改 "
        "`trainer.n_gpus_per_node` 与 `trainer.nnodes`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{prompts} prompts x {answers} answers are {samples} samples, no multiple of {gpus} GPUs",
        "veRL checks its configuration first and ends with "
        "`real_train_batch_size ({samples}) must be divisible by` the number of GPUs.",
        "Use a batch that comes out even.",
    ),
    zh=Words(
        "{prompts} 个 prompt x {answers} 个回答共 {samples} 个样本,不是 {gpus} 张 GPU 的倍数",
        "veRL 会先检查配置,并以 `real_train_batch_size ({samples}) must be divisible by` GPU 数的错误退出。",
        "使用能整除的 batch。",
    ),
)


@check(PROBLEM)
def samples_not_divisible(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The rule of verl/utils/config.py, before 0.6.0 in verl/trainer/ppo/ray_trainer.py."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = ("data.train_batch_size", ROLLOUT + "n", "trainer.n_gpus_per_node", "trainer.nnodes")
    prompts, answers, gpus = verl.number(keys[0]), verl.number(keys[1]), verl.gpus
    dynamic = verl.is_on(ACTOR + "use_dynamic_bsz")
    if not prompts or not answers or not gpus or not verl.is_fsdp or dynamic is None:
        return
    if prompts * answers % gpus == 0 or (dynamic and packages.matches("verl", ">=0.6")):
        return
    even = [size for size in range(prompts, prompts + gpus) if size * answers % gpus == 0]
    yield found(
        PROBLEM,
        MESSAGE,
        prompts=prompts,
        answers=answers,
        samples=prompts * answers,
        gpus=gpus,
        where=place_of(*place_settings(verl, *keys)),
        commands=tuple(f"data.train_batch_size={size}" for size in even[:1]),
        evidence=verl.quoted(*keys),
    )
