"""The sequence parallel size does not divide the model's heads.

## What it means
Ulysses gives each GPU of a group whole attention heads. The key-value heads must divide, or be divided,
evenly.
## What it does to a run
Every worker stops while it prepares the model: `num_attention_heads 14 must be divisible by ulysses_sp_size
4`.
## What to do
Choose a size that divides both numbers.
## How it is found
The composed size against the model's local config.json.
## References
https://github.com/verl-project/verl/blob/v0.5.0/verl/models/transformers/monkey_patch.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ACTOR, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="VRL011",
    name="verl-sequence-parallel-splits-heads",
    severity=ERROR,
    since="0.1",
    affects={"verl": ">=0.3.0.post0"},
)

SIGNATURES = (
    Signature(
        r"num_attention_heads (?P<heads>\d{1,6}) must be divisible by ulysses_sp_size"
        r" (?P<size>\d{1,4})"
    ),
    Signature(
        r"num_heads \((?P<heads>\d{1,6})\) must be divisible by ulysses sequence"
        r" size\((?P<size>\d{1,4})\)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{heads} attention heads do not divide among {size} sequence-parallel ranks",
        "Ulysses gives each rank a part of the heads.",
        "Set `ulysses_sequence_parallel_size` to a divisor of {heads}.",
    ),
    zh=Words(
        "{heads} 个注意力头无法分给 {size} 个序列并行 rank",
        "Ulysses 把注意力头分给各 rank。",
        "把 `ulysses_sequence_parallel_size` 设为 {heads} 的约数。",
    ),
)

MESSAGE = Message(
    en=Words(
        "Sequence parallel size {parallel} does not fit the {heads} {kind} heads of `{model}`",
        "The workers stop while they prepare the model, with `must be divisible by ulysses_sp_size {parallel}`.",
        "Use a size that divides the heads: {fitting}.",
    ),
    zh=Words(
        "序列并行数 {parallel} 与 `{model}` 的 {heads} 个 {kind} 头不匹配",
        "worker 在准备模型时会以 `must be divisible by ulysses_sp_size {parallel}` 退出。",
        "使用能整除这些头的大小:{fitting}。",
    ),
)


@check(PROBLEM)
def sequence_parallel_splits_heads(
    verl_config: VerlConfig, packages: Packages, launch: Launch, model: Model
) -> Judgement:
    """The assertions of `apply_monkey_patch`."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    key = ACTOR + "ulysses_sequence_parallel_size"
    parallel, heads, keys = verl.number(key), model.attention_heads, model.kv_heads
    if not parallel or parallel < 2 or not heads or not verl.is_fsdp:
        return
    if heads % parallel:
        kind, wrong = "attention", heads
    elif keys and keys % parallel and parallel % keys:
        kind, wrong = "key-value", keys
    else:
        return
    fitting = [size for size in range(1, heads + 1) if not heads % size and (not keys or not keys % size)]
    yield found(
        PROBLEM,
        MESSAGE,
        parallel=parallel,
        heads=wrong,
        kind=kind,
        model=model.name,
        fitting=", ".join(map(str, fitting)),
        where=place_of(*place_settings(verl, key)),
        commands=(f"{key}={max(size for size in fitting if size <= parallel)}",),
        evidence=(*verl.quoted(key), Evidence(f"{model.folder}/config.json", f"{heads} heads, {keys} key-value heads")),
    )
