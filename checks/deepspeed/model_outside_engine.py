"""A sharded weight was used outside the engine that gathers it.

## What it means
Under ZeRO-3 (and FSDP) each process holds a piece of every weight; the engine gathers the pieces around
`forward`. A second model (teacher, reference, reward), or a call past the engine (`model.module.generate`,
a submodule), meets empty shards: the embedding is no longer two-dimensional.
## What it does to a run
The first call of that model raises RuntimeError.
## What to do
Prepare that model with the same engine, gather its weights for the call, or use ZeRO-2.
## How it is found
In a log: by torch's exception about the embedding's shape.
## References
https://huggingface.co/docs/accelerate/usage_guides/deepspeed_multiple_model
https://deepspeed.readthedocs.io/en/stable/zero3.html#gathering-parameters
https://github.com/hiyouga/LLaMA-Factory/issues/4557
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DSP021", name="model-outside-deepspeed-engine", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: 'weight' must be 2-D", symptom_of=("FSD014",)),
    Signature(
        r"RuntimeError: The size of tensor a \((?:0\) must match the size of tensor b \(\d{1,12}\)"
        r"|\d{1,12}\) must match the size of tensor b \(0\))",
        frame=r"deepspeed[\\/]",
        own_code=True,  # the engine calls the model, which may be the user's
        symptom_of=("PFT011", "FSD015"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a weight was an empty shard (ZeRO-3 or FSDP) when the model was called",
        "The weights are partitioned over the processes and gathered only by the engine that wraps the "
        "model. This one was called outside of it: usually a second model (teacher, reference or reward "
        "model) that was loaded under ZeRO-3 and never prepared, or a submodule called directly.",
        "Pass that model through `accelerator.prepare` with an evaluation configuration, or "
        "`deepspeed.initialize` (TRL: `prepare_deepspeed`); or wrap the call in "
        "`deepspeed.zero.GatheredParameters(model.parameters())` (FSDP: `summon_full_params`); or use "
        "ZeRO stage 2.",
    ),
    zh=Words(
        "调用模型时,某个权重是空分片(ZeRO-3 或 FSDP)",
        "权重被切分到各进程,只有包装该模型的引擎才会聚合。这次调用在引擎之外:通常是在 ZeRO-3 下加载却从未"
        " prepare 的第二个模型(教师、参考或奖励模型),或直接调用了子模块。",
        "用评估配置把该模型交给 `accelerator.prepare` 或 `deepspeed.initialize`(TRL:`prepare_deepspeed`);或在调用外包一"
        "层 `deepspeed.zero.GatheredParameters(model.parameters())`(FSDP:`summon_full_params`);或使用 ZeRO stage 2。",
    ),
)

#: the Trainer's own model, called past every engine: there is none
NO_ENGINE = Message(
    en=Words(
        "ZeRO-3 split the model's weights, and no DeepSpeed engine was made to gather them",
        "The configuration was read, so the model was loaded in pieces, but the Trainer calls it without an engine: "
        "the process was started alone (one GPU, plain `python` or `llamafactory-cli`), and DeepSpeed works only "
        "under a launcher.",
        "Start with a launcher, for one GPU too: LLaMA-Factory `FORCE_TORCHRUN=1 llamafactory-cli train ...`, else "
        "`deepspeed --num_gpus 1 train.py ...` or `torchrun --nproc_per_node 1 train.py ...`. On one GPU without need "
        "for offloading leave the DeepSpeed configuration out.",
    ),
    zh=Words(
        "ZeRO-3 切分了模型权重,却没有创建负责聚合的 DeepSpeed 引擎",
        "已读取配置,因此模型以分片方式加载,但 Trainer 调用模型时没有经过引擎:进程是单独启动的(单卡,普通 `python` 或 "
        "`llamafactory-cli`),而 DeepSpeed 只在启动器下工作。",
        "单卡也用启动器启动:LLaMA-Factory 用 `FORCE_TORCHRUN=1 llamafactory-cli train ...`,否则 `deepspeed --num_gpus "
        "1 train.py ...` 或 `torchrun --nproc_per_node 1 train.py ...`。单卡且不需要卸载时,不要使用 DeepSpeed 配置。",
    ),
)

MESSAGES = (LOG_MESSAGE, NO_ENGINE)

#: what stands between the Trainer and the model of a run that has an engine, or calls a second model
_BETWEEN = re.compile(r"deepspeed[\\/]|[\\/]trl[\\/]|[\\/]fsdp[\\/]|:(?:generate|encode\w{0,30})$")
_TRAINS = re.compile(
    r"trainer\w{0,20}\.py:(?:compute_loss|training_step|_?inner_training_loop|train)$|:run_(?:sft|pt)$"
)


def explain(hits: Hits) -> Finding:
    """A Trainer that reaches the model without an engine has none; any other caller went past it."""
    frames = hits.first.frames
    alone = any(map(_TRAINS.search, frames)) and not any(map(_BETWEEN.search, frames)) and hits.first.rank is None
    message = NO_ENGINE if alone else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
