"""The installed Transformers calls accelerate in a way that this accelerate does not know.

## What it means
Trainer and accelerate come in pairs. accelerate 1.0 took `dispatch_batches`, `split_batches`, `even_batches` and
`use_seedable_sampler` out of `Accelerator` (they live in `DataLoaderConfiguration`), which older Transformers still
pass, and so do scripts of that time; newer Transformers pass `keep_torch_compile` to `unwrap_model`, which came with
accelerate 1.3.
## What it does to a run
The Trainer raises TypeError when it is built, or at the first save.
## What to do
Bring the two together: upgrade Transformers for a new accelerate, or accelerate for a new Transformers.
## How it is found
In a log: by the refused argument, and by who passed it.
## References
https://github.com/huggingface/accelerate/releases/tag/v1.0.0
https://github.com/huggingface/accelerate/pull/3282
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
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

LOG_MESSAGE_PAIR = Message(
    en=Words(
        "`{where_used}` of accelerate does not know `{name}`, which a library passes to it",
        "accelerate and the release that calls it are of different times: most often accelerate is the older one. An "
        "argument that accelerate has dropped since, and a key of `accelerator_config` in the training arguments that "
        "this release does not have, look the same.",
        "Upgrade them together: `pip install -U accelerate transformers trl`. If `{name}` stands in "
        "`accelerator_config` (`gradient_accumulation_kwargs`), take it out.",
    ),
    zh=Words(
        "accelerate 的 `{where_used}` 不认识某个库传入的 `{name}`",
        "accelerate 与调用它的版本不属于同一时期:多半是 accelerate 较旧。accelerate 后来去掉的参数,或训练参数 "
        "`accelerator_config` 中此版本没有的键,表现相同。",
        "一起升级:`pip install -U accelerate transformers trl`。若 `{name}` 写在 `accelerator_config`"
        "(`gradient_accumulation_kwargs`)中,去掉它。",
    ),
)

LOG_MESSAGE_OWN = Message(
    en=Words(
        "the code passes `{name}` to `Accelerator`, which accelerate 1.0 took out",
        "Since 1.0 the settings of data loaders live in `DataLoaderConfiguration`.",
        "Write `Accelerator(dataloader_config=DataLoaderConfiguration({name}=...))` (`from accelerate.utils import "
        'DataLoaderConfiguration`), or pin the release that the code was written for: `pip install "accelerate<1.0"`.',
    ),
    zh=Words(
        "代码向 `Accelerator` 传入 `{name}`,而 accelerate 1.0 已移除该参数",
        "自 1.0 起,数据加载器的设置在 `DataLoaderConfiguration` 中。",
        "写成 `Accelerator(dataloader_config=DataLoaderConfiguration({name}=...))`(`from accelerate.utils import "
        'DataLoaderConfiguration`),或固定代码所针对的版本:`pip install "accelerate<1.0"`。',
    ),
)

_LIBRARY = re.compile(r"[\\/](?:transformers|trl)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Say which of the two is behind; a class of one's own may take arguments of the same names."""
    old, first = hits.get("old"), hits.first
    by_library = any(_LIBRARY.search(each) for each in first.frames)
    if old and not by_library and "Accelerator" not in first.text + first.code:
        return None
    commands: tuple[str, ...] = ("pip install -U accelerate transformers",)
    if old and (by_library or not first.frames):
        message, commands = LOG_MESSAGE, ("pip install -U transformers",)
    elif old:
        message, commands = LOG_MESSAGE_OWN, ('pip install "accelerate<1.0"',)
    elif hits.get("owner"):
        message = LOG_MESSAGE_PAIR
    else:
        message, commands = LOG_MESSAGE_OLD, ("pip install -U accelerate",)
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is LOG_MESSAGE_PAIR or not first.frames else CONFIRMED,
        commands=commands,
        name=old or hits.get("new"),
        where_used=hits.get("owner") or "unwrap_model",
    )
