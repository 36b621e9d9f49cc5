"""FSDP is asked for and the script runs as a single process.

## What it means
FSDP shards over the processes of a group; plain `python` makes no group.
## What it does to a run
The Trainer raises ValueError when it is built.
## What to do
Start with `accelerate launch` or `torchrun`, or take `fsdp` out.
## How it is found
Before launch, by the command and the argument. In a log: by the exception of the Trainer.
## References
https://huggingface.co/docs/transformers/fsdp
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import certainty, is_plain_python, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="FSD009", name="fsdp-without-launcher", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Using fsdp only works in distributed training"),
    Signature(r"ValueError: Using --fsdp xxx together with --deepspeed is not possible"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`fsdp` is set, and the script was not started as a distributed training",
        "FSDP shards the model over the processes of a group, and plain `python` starts none.",
        "Start it with `torchrun --nproc-per-node N train.py` or `accelerate launch --num_processes N "
        "train.py`, or take `fsdp` out for one GPU.",
    ),
    zh=Words(
        "设置了 `fsdp`,但脚本不是以分布式方式启动的",
        "FSDP 在进程组的各进程之间分片模型,而普通 `python` 不会建立进程组。",
        "用 `torchrun --nproc-per-node N train.py` 或 `accelerate launch --num_processes N train.py` 启动"
        ";单张 GPU 时去掉 `fsdp`。",
    ),
)

LOG_MESSAGE_BOTH = Message(
    en=Words(
        "`fsdp` and `deepspeed` are both set",
        "Both shard the same model, so the Trainer takes one of them only.",
        "Take `fsdp` or `deepspeed` out of the training arguments (and out of the accelerate configuration).",
    ),
    zh=Words(
        "同时设置了 `fsdp` 和 `deepspeed`",
        "两者都会对同一个模型分片,因此 Trainer 只接受其中之一。",
        "从训练参数(以及 accelerate 配置)中去掉 `fsdp` 或 `deepspeed`。",
    ),
)


@check(PROBLEM)
def without_launcher(launch: Launch, world: World, environment: Environment, training: Training) -> Judgement:
    """Judge `fsdp` of the training arguments where the script is started by plain Python."""
    setting = training.get("fsdp")
    if setting is None or not setting.known or not setting.value or training.trainer is None:
        return
    if truth(setting.value) is False or "fsdp" in training.set_later:
        return
    if is_plain_python(launch, world, environment, training):
        yield found(
            PROBLEM, LOG_MESSAGE, where=place_of(setting), evidence=quoted(setting), confidence=certainty(training)
        )


def explain(hits: Hits) -> Finding | None:
    """Tell the missing launcher from the clash with DeepSpeed."""
    message = LOG_MESSAGE if hits.of(0) else LOG_MESSAGE_BOTH
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())
