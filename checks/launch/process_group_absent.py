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

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH022", name="process-group-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:RuntimeError|ValueError): Default process group has not been initialized, please "
        r"make sure to call init_process_group"
    ),
)

LOG_CONFIDENCE = LIKELY

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
