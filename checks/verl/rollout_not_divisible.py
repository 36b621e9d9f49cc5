"""The GPUs do not divide into rollout engines.

## What it means
In the hybrid engine all GPUs generate. Each engine takes `tensor_model_parallel_size` of them (2 by
default), times data and pipeline parallelism where the release has them.
## What it does to a run
Every worker stops when it is made: `rollout world_size: 1 is not divisible by infer_tp: 2`.
## What to do
Set `actor_rollout_ref.rollout.tensor_model_parallel_size` to a divisor of the GPUs.
## How it is found
The composed values.
## References
https://github.com/verl-project/verl/blob/v0.5.0/verl/workers/fsdp_workers.py
https://github.com/verl-project/verl/blob/v0.9.1/verl/workers/engine_workers.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="VRL008",
    name="verl-rollout-not-divisible",
    severity=ERROR,
    since="0.1",
    affects={"verl": ">=0.3.0.post0,<0.9"},
)

SIGNATURES = (
    Signature(
        r"rollout world_size: (?P<world>\d{1,6}) is not divisible by infer_(?:tp|world_size):"
        r" (?P<tp>\d{1,6})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{world} GPUs do not divide into rollout engines of {tp}",
        "Each rollout engine takes tensor_parallel_size GPUs, and together they must take all of the trainer's.",
        "Set `actor_rollout_ref.rollout.tensor_model_parallel_size` to a divisor of {world}, or "
        "change the number of GPUs (`trainer.n_gpus_per_node`).",
    ),
    zh=Words(
        "{world} 张 GPU 无法分成每组 {tp} 张的 rollout 引擎",
        "每个 rollout 引擎占用 tensor_parallel_size 张 GPU,合起来必须恰好是训练所用的全部。",
        "把 `actor_rollout_ref.rollout.tensor_model_parallel_size` 设为 {world} 的约数,或修改 GPU 数"
        "(`trainer.n_gpus_per_node`)。",
    ),
)

MESSAGE = Message(
    en=Words(
        "{gpus} GPUs do not divide into rollout engines of {engine} GPUs",
        "Each engine takes the tensor parallel size ({parallel}) times data and pipeline parallelism, and "
        "the workers stop with `rollout world_size: {gpus} is not divisible by`.",
        "Use a tensor parallel size that divides the GPUs.",
    ),
    zh=Words(
        "{gpus} 张 GPU 不能均分为每个 {engine} 张 GPU 的 rollout 引擎",
        "每个引擎占用张量并行数({parallel})乘以数据并行与流水线并行,worker 会以 "
        "`rollout world_size: {gpus} is not divisible by` 退出。",
        "使用能整除 GPU 数的张量并行数。",
    ),
)


KEY = ROLLOUT + "tensor_model_parallel_size"


@check(PROBLEM)
def rollout_not_divisible(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """The world size here is that of the hybrid engine, the only one of this entry."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    gpus, parallel = verl.gpus, verl.number(KEY)
    if not gpus or not parallel or verl.is_on("actor_rollout_ref.hybrid_engine") is False:
        return
    others = [verl.value(ROLLOUT + name) for name in ("data_parallel_size", "pipeline_model_parallel_size")]
    if UNKNOWN in others:
        return
    engine = parallel
    for size in others:
        engine *= whole(size) or 1
    if gpus % engine == 0:
        return
    fitting = max((size for size in range(1, parallel + 1) if gpus % (size * engine // parallel) == 0), default=1)
    yield found(
        PROBLEM,
        MESSAGE,
        gpus=gpus,
        engine=engine,
        parallel=parallel,
        where=place_of(*place_settings(verl, KEY, "trainer.n_gpus_per_node", "trainer.nnodes")),
        commands=(f"{KEY}={fitting}",),
        evidence=verl.quoted(KEY, "trainer.n_gpus_per_node", "trainer.nnodes"),
    )
