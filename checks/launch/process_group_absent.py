"""A collective was asked for before there was a process group.

## What it means
`torch.distributed` was used in a process that never called `init_process_group`: the script was started with
plain `python` instead of a launcher, one process builds a dataset or model of a distributed kind on its own,
or the call comes too early.
## What it does to a run
The first such call raises.
## What to do
Start with a launcher, or set the group up first.
## How it is found
In a log: by torch's exception.
## References
https://docs.pytorch.org/docs/stable/distributed.html#initialization
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH022", name="process-group-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:RuntimeError|ValueError): Default process group has not been initialized, please "
        r"make sure to call init_process_group"
    ),
    Signature(
        r"AssertionError: (?P<group>[A-Za-z][a-z_ -]{2,60} parallel[\w -]{0,60}) is not initialized$",
        frame=r"(?:parallel_state|mpu[\\/]initialize)\.py:",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`torch.distributed` was used before a process group existed",
        "The script was most likely started with plain `python`, or code that needs all ranks "
        "runs before the trainer (or `Accelerator()`, `deepspeed.init_distributed()`) has set "
        "the group up.",
        "Start it with a launcher: `torchrun --nproc_per_node=1 train.py` or `accelerate launch "
        "train.py` (also for one GPU), or call `torch.distributed.init_process_group()` first; "
        "guard own code with `torch.distributed.is_initialized()`.",
    ),
    zh=Words(
        "在进程组建立之前使用了 `torch.distributed`",
        "脚本很可能用普通 `python` 启动,或需要所有 rank 的代码在训练器(或 `Accelerator()`、"
        "`deepspeed.init_distributed()`)建立进程组之前运行。",
        "用启动器启动:`torchrun --nproc_per_node=1 train.py` 或 `accelerate launch "
        "train.py`(单卡也可),或先调用 `torch.distributed.init_process_group()`;自己的代码用 "
        "`torch.distributed.is_initialized()` 判断。",
    ),
)

#: whose parallel_state.py it is, by a part of its path
_OWNERS = (("megatron", "Megatron"), ("sglang", "SGLang"), ("vllm", "vLLM"))

PARALLEL = Message(
    en=Words(
        "{owner} was asked for its {group} in a process that never set one up",
        "Each process sets the parallel groups up once (`initialize_model_parallel`), and here something uses them "
        "before that or in another process: the driver instead of a worker, a mode that starts no trainer or no "
        "engine, or a layer that is built outside of the engine.",
        "Look in the traceback for the caller: a debug or rollout-only mode needs a release in which that path asks "
        "for no group (upgrade the framework); own code must run inside the workers, after their initialisation.",
    ),
    zh=Words(
        "在从未建立并行组的进程中向 {owner} 请求了 {group}",
        "每个进程要先建立一次并行组(`initialize_model_parallel`),而此处在此之前或在另一个进程中使用了它们:用了 driver "
        "而非 worker,所选模式不启动训练器或引擎,或在引擎之外构建了层。",
        "在回溯中查看调用者:调试或仅 rollout 的模式需要该路径不再请求并行组的版本(升级框架);自己的代码应在 worker "
        "内、初始化之后运行。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Torch's own group, or one of the groups that Megatron and the engines make of it."""
    group = hits.get("group")
    path = hits.first.frames[-1] if hits.first.frames else ""
    return found(
        PROBLEM,
        PARALLEL if group else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        group=(group or "").lower(),
        owner=next((name for part, name in _OWNERS if part in path), "the library"),
    )
