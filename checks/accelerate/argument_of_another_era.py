"""The installed Transformers calls accelerate in a way that this accelerate does not know.

## What it means
Trainer and accelerate come in pairs. accelerate 1.0 took `dispatch_batches`, `split_batches`,
`even_batches` and `use_seedable_sampler` out of `Accelerator` (they live in `DataLoaderConfiguration`),
which older Transformers still pass; newer Transformers pass `keep_torch_compile` to `unwrap_model`, which
came with accelerate 1.3.
## What it does to a run
The Trainer raises TypeError when it is built, or at the first save.
## What to do
Bring the two together: upgrade Transformers for a new accelerate, or accelerate for a new Transformers.
## How it is found
In a log: by the refused argument.
## References
https://github.com/huggingface/accelerate/releases/tag/v1.0.0
https://github.com/huggingface/accelerate/pull/3282
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="ACC011", name="accelerate-of-another-era", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TypeError: (?:Accelerator\.)?__init__\(\) got an unexpected keyword argument"
        r" '(?P<old>dispatch_batches|split_batches|even_batches|use_seedable_sampler)'",
    ),
    Signature(
        r"TypeError: (?:Accelerator\.)?unwrap_model\(\) got an unexpected keyword argument"
        r" '(?P<new>keep_torch_compile)'",
    ),
    Signature(
        r"TypeError: (?P<owner>Accelerator|GradientAccumulationPlugin|DataLoaderConfiguration|DeepSpeedPlugin|"
        r"FullyShardedDataParallelPlugin|ProjectConfiguration)\.(?P<method>\w{1,60})\(\) got an unexpected keyword "
        r"argument '(?P<new>(?!dispatch_batches|split_batches|even_batches|use_seedable|keep_torch)\w{1,60})'",
        frame=r"transformers[\\/]trainer\w{0,20}\.py:|transformers[\\/]training_args\.py:|trl[\\/]",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`Accelerator` no longer takes `{name}`: accelerate is too new for the installed Transformers",
        "accelerate 1.0 removed the argument in favour of `DataLoaderConfiguration`; Transformers older "
        "than that still passes it.",
        "Upgrade the older side, `pip install -U transformers`, or pin accelerate: `pip install "
        '"accelerate<1.0"` (0.34.2).',
    ),
    zh=Words(
        "`Accelerator` 不再接受 `{name}`:accelerate 对已安装的 Transformers 来说太新",
        "accelerate 1.0 移除了该参数,改用 `DataLoaderConfiguration`;更旧的 Transformers 仍会传入。",
        '升级较旧的一方 `pip install -U transformers`,或固定 accelerate:`pip install "accelerate<1.0"`(0.34.2)。',
    ),
)

LOG_MESSAGE_OLD = Message(
    en=Words(
        "`{where_used}` does not know `{name}`: accelerate is too old for the installed Transformers",
        "The Trainer passes an argument that the installed accelerate does not have yet.",
        "Upgrade accelerate: `pip install -U accelerate`.",
    ),
    zh=Words(
        "`{where_used}` 不认识 `{name}`:accelerate 对已安装的 Transformers 来说太旧",
        "Trainer 传入了已安装的 accelerate 还没有的参数。",
        "升级 accelerate:`pip install -U accelerate`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say which of the two is behind."""
    old = hits.get("old")
    return found(
        PROBLEM,
        LOG_MESSAGE if old else LOG_MESSAGE_OLD,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("pip install -U transformers",) if old else ("pip install -U accelerate",),
        name=old or hits.get("new"),
        where_used=hits.get("owner") or "unwrap_model",
    )
