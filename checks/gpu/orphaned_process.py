"""A GPU process has outlived the run that started it.

## What it means
A vLLM engine core, a Ray worker or a launcher's child of yours still holds GPU memory although its parent is gone:
its parent is now process 1.
## What it does to a run
Its memory is missing to the next run, which fails to start or runs out of memory at once.
## What to do
Look at the process, then end it.
## How it is found
NVML's compute processes whose name belongs to the stack, that are yours and whose parent is process 1 (a job
started with setsid can look the same, so this is likely, not proven). In a container process 1 may be the real
parent: there nothing is said.
## References
https://github.com/vllm-project/vllm/issues/34643
https://github.com/vllm-project/vllm/issues/55510
https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

import re

from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.gpus import Gpus
from doctor.facts.host import Host

PROBLEM = Problem(id="GPU006", name="gpu-process-orphaned", severity=WARNING, since="0.1")

#: titles that vLLM and Ray give to workers; these are children of a server or a raylet and never started by hand
WORKER = re.compile(r"VLLM::|EngineCore|VllmWorker|^ray::|multiprocessing\.spawn|multiprocessing\.forkserver")

MESSAGE = Message(
    en=Words(
        "GPU {gpu}: `{name}` (pid {pid}) has lost its parent and holds {used_gib} GiB",
        "It looks like a worker of a run that died. Its memory is missing to the next run.",
        "Make sure that no running job of yours needs it, then end it.",
    ),
    zh=Words(
        "GPU {gpu}:`{name}`(pid {pid})已失去父进程,仍占用 {used_gib} GiB",
        "它看起来是一次已经退出的训练留下的工作进程,下一次训练会缺少这部分显存。",
        "确认没有正在运行的任务需要它,然后将其结束。",
    ),
)


@check(PROBLEM)
def orphaned_process(gpus: Gpus, host: Host) -> Judgement:
    """Workers of the stack that belong to this user and hang on process 1."""
    if host.container is not None:
        yield Skip("in a container an orphan cannot be told from a child of the container's first process")
        return
    seen = set()
    for gpu in gpus.gpus:
        for process in gpu.processes or ():
            title = f"{process.name or ''} {process.command or ''}"
            is_orphan = process.parent_pid == 1 and process.is_mine and WORKER.search(title.strip())
            if not is_orphan or process.pid in seen:
                continue
            seen.add(process.pid)
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.index,
                name=process.name,
                pid=process.pid,
                used_gib=f"{(process.used_bytes or 0) / 2**30:.1f}",
                where=Where(gpu=gpu.index),
                commands=(f"doctor fix orphans {process.pid}", f"kill {process.pid}"),
                evidence=(Evidence("/proc", f"pid {process.pid}, parent 1: {process.command or process.name}"),),
                confidence=LIKELY,
            )
