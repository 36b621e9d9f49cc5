"""The process group is made a second time.

## What it means
torch has one default process group a process. Accelerate, DeepSpeed, FSDP trainers and vLLM make it themselves; a
script that calls `init_process_group` as well makes the second.
## What it does to a run
The second call raises and the rank ends.
## What to do
Make it once.
## How it is found
In a log, by torch's error.
## References
https://pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
https://github.com/pytorch/pytorch/blob/main/torch/distributed/distributed_c10d.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH044", name="process-group-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ValueError|RuntimeError): trying to initialize the default process group twice",
    ),
)

LOG_CONFIDENCE = CONFIRMED

LOG_MESSAGE = Message(
    en=Words(
        "`torch.distributed.init_process_group` was called in a process that has its default group",
        "`Accelerator()`, `TrainingArguments` (all configs of TRL), `deepspeed.init_distributed()` and vLLM's"
        " external launcher make the group themselves. A call of the script's own, or a second attempt after "
        "a first start that failed halfway, comes too late.",
        "Remove the script's own call, or guard it: `if not torch.distributed.is_initialized(): ...`. In a "
        "notebook or a retry call `torch.distributed.destroy_process_group()` first.",
    ),
    zh=Words(
        "在已有默认进程组的进程中又调用了 `torch.distributed.init_process_group`",
        "`Accelerator()`、`TrainingArguments`(TRL 的所有配置)、`deepspeed.init_distributed()` 与 vLLM"
        " 的 external launcher 会自行创建进程组。脚本自己的调用,或首次启动中途失败后的再次尝试,便成了"
        "第二次。",
        "去掉脚本自己的调用,或加上判断:`if not torch.distributed.is_initialized(): ...`。在 notebook "
        "或重试中先调用 `torch.distributed.destroy_process_group()`。",
    ),
)
