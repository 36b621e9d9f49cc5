"""A script starts processes without protecting its main part.

## What it means
A process that is spawned imports the script again. What stands outside of `if __name__ == '__main__':` runs
there once more and starts processes of its own, which Python forbids.
## What it does to a run
The children end with a RuntimeError, and vLLM's engine cannot start.
## What to do
Put the script's work under the guard.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods
https://docs.vllm.ai/en/latest/usage/troubleshooting/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PYT022", name="spawn-without-guard", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"An attempt has been made to start a new process before the$|An attempt has been made to"
        r" start a new process before the current process has finished",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        'the script starts processes outside of `if __name__ == "__main__":`',
        "vLLM and data loaders that spawn import the script anew in each child; its top level then makes "
        "`LLM(...)` or the trainer again, inside the child, which Python refuses.",
        'Move the work into a function and call it under `if __name__ == "__main__":`. '
        "(`VLLM_ENABLE_V1_MULTIPROCESSING=0` also keeps vLLM's engine in the process, for one GPU.)",
    ),
    zh=Words(
        '脚本在 `if __name__ == "__main__":` 之外启动了进程',
        "使用 spawn 的 vLLM 和 DataLoader 会在每个子进程中重新导入脚本;其顶层代码会在子进程中再次创建 "
        "`LLM(...)` 或训练器,Python 拒绝这样做。",
        '把工作放进函数,并在 `if __name__ == "__main__":` 下调用。(单 GPU 时 '
        "`VLLM_ENABLE_V1_MULTIPROCESSING=0` 也可让 vLLM 引擎留在本进程。)",
    ),
)
