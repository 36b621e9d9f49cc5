"""Two processes on this machine cannot exchange a tensor.

## What it means
An all-reduce of a few numbers between two processes, the first thing that distributed training does, failed or hung.
## What it does to a run
Every multi-process launch stops at its first collective, often only after the time-out of NCCL (10 to 30 minutes).
## What to do
Run the same with NCCL_DEBUG=INFO and read its last lines: a network interface, shared memory, or P2P between cards.
## How it is found
`--deep` starts two processes: NCCL where there are two GPUs, else gloo.
## References
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.deep import Deep

PROBLEM = Problem(id="TOR010", name="collective-fails", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "An all-reduce between two processes fails with {backend}: {error}",
        "Every multi-process launch stops at its first collective on this machine.",
        "Run it again with NCCL_DEBUG=INFO and read the last lines before the failure.",
    ),
    zh=Words(
        "两个进程之间的 all-reduce({backend})失败:{error}",
        "在这台机器上,任何多进程训练都会停在第一次集合通信。",
        "设置 NCCL_DEBUG=INFO 再运行一次,阅读失败前的最后几行。",
    ),
)

HUNG = Message(
    en=Words(
        "An all-reduce between two processes hangs with {backend}",
        "It did not end within {seconds} s. A launch would wait for the time-out of the process group, minutes later.",
        "Run it again with NCCL_DEBUG=INFO. Where it stops at P2P or shared memory, try NCCL_P2P_DISABLE=1, then "
        "NCCL_SHM_DISABLE=1, to learn which of them is broken.",
    ),
    zh=Words(
        "两个进程之间的 all-reduce({backend})挂起",
        "{seconds} 秒内没有结束。真正的训练要等到进程组超时,即数分钟之后才会报错。",
        "设置 NCCL_DEBUG=INFO 再运行一次。如果停在 P2P 或共享内存,依次尝试 NCCL_P2P_DISABLE=1 和 "
        "NCCL_SHM_DISABLE=1,以确定是哪一个坏了。",
    ),
)


@check(PROBLEM)
def collective_fails(deep: Deep) -> Judgement:
    """Judge the one collective that was tried."""
    tried = deep.collective
    if tried is None or tried.outcome == "ok":
        return
    yield found(
        PROBLEM,
        HUNG if tried.outcome == "timeout" else MESSAGE,
        commands=("NCCL_DEBUG=INFO torchrun --nproc_per_node 2 SCRIPT",),
        evidence=(Evidence(f"all-reduce with {tried.backend}", tried.error or tried.outcome),),
        backend=tried.backend,
        error=(tried.error or tried.outcome).rstrip("."),
        seconds=round(tried.seconds),
    )
