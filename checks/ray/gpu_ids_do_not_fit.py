"""Ray hands a worker a GPU that the worker's CUDA_VISIBLE_DEVICES does not hold.

## What it means
Ray counts the GPUs of a node in the order of its CUDA_VISIBLE_DEVICES and translates its own numbers with the list that
the worker finds. A launcher that forwards its own variable through `runtime_env`, or code that sets it in the worker,
gives the worker another list than the node had.
## What it does to a run
The worker dies before its first line (`IndexError` in Ray's own code), or Ray Train cannot tell its device.
## What to do
Leave the variables of visibility to Ray.
## How it is found
In a log: by the error in Ray's own translation of GPU numbers.
## References
https://github.com/allenai/open-instruct/pull/1519
https://github.com/ray-project/ray/blob/master/python/ray/_private/worker.py
https://docs.ray.io/en/latest/ray-core/scheduling/accelerators.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="RAY029", name="gpu-ids-do-not-fit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^IndexError: list index out of range",
        frame=r"ray[\\/]_private[\\/]worker\.py:get_(?:accelerator|gpu|resource)_ids",
        symptom_of=("LCH042",),
    ),
    Signature(
        r"^ValueError: '[\w-]{1,60}' is not in list",
        frame=r"ray[\\/](?:train|air)[\\/][^\n]{1,120}\.py:(?:get_(?:torch_)?devices?|list_devices)",
    ),
    Signature(r"CUDA_VISIBLE_DEVICES set incorrectly\. Got"),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "Ray gave the worker a GPU that its `CUDA_VISIBLE_DEVICES` does not hold",
        "Ray numbers the GPUs of a node and looks these numbers up in the list that the worker has. Here that list is "
        "shorter or another one: the launcher's own `CUDA_VISIBLE_DEVICES` (`ROCR_VISIBLE_DEVICES`, "
        "`HIP_VISIBLE_DEVICES`) was forwarded with `runtime_env` `env_vars`, inherited, or set in code of the worker.",
        "Keep these variables out of `runtime_env` and of the worker's code (an `env_vars` copied from `os.environ` "
        "has them); set them before `ray start` on each node, where they belong. Newer Ray takes the worker's own "
        "list where its numbers go beyond it: upgrade Ray, too.",
    ),
    zh=Words(
        "Ray 分给 worker 的 GPU 不在其 `CUDA_VISIBLE_DEVICES` 中",
        "Ray 对节点的 GPU 编号,并在 worker 的列表中查找这些编号。此处该列表更短或不同:启动程序自己的 "
        "`CUDA_VISIBLE_DEVICES`(`ROCR_VISIBLE_DEVICES`、`HIP_VISIBLE_DEVICES`)经 `runtime_env` 的 `env_vars` 传入、"
        "被继承,或在 worker 的代码中设置。",
        "不要把这些变量放入 `runtime_env`,也不要在 worker 代码中设置(从 `os.environ` 复制的 `env_vars` 会带上它们);"
        "应在每个节点 `ray start` 之前设置。较新的 Ray 在编号超出时采用 worker 自己的列表:也请升级 Ray。",
    ),
)
