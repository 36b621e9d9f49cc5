"""A small matrix product on the GPU crashes, raises or gives numbers that are not finite.

## What it means
The simplest thing that training does was tried on each GPU, and it did not work on this one.
## What it does to a run
It dies at the first forward pass, or trains on garbage.
## What to do
A signal points to a broken cuBLAS (see the mapped libraries), an exception to the build or the card's state, results
that are not finite to faulty hardware.
## How it is found
`--deep` multiplies two small matrices in fp16 and bf16 on every visible GPU, each in a process of its own.
## References
https://github.com/pytorch/pytorch/issues/133548
https://docs.nvidia.com/deploy/xid-errors/
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.deep import Deep, Matmul

PROBLEM = Problem(id="TOR009", name="matmul-fails", severity=ERROR, since="0.1")

KILLED = Message(
    en=Words(
        "A {dtype} matrix product on GPU {gpu} kills the process with {signal}",
        "The first forward pass dies the same way, without a traceback. The crash is inside cuBLAS or the driver, not "
        "in your code.",
        "Look at the cuBLAS that is really loaded, and install torch again.",
    ),
    zh=Words(
        "GPU {gpu} 上的 {dtype} 矩阵乘法使进程被 {signal} 终止",
        "第一次前向传播会同样死掉,没有 traceback。崩溃发生在 cuBLAS 或驱动内部,与你的代码无关。",
        "检查实际加载的 cuBLAS,并重新安装 torch。",
    ),
)

RAISED = Message(
    en=Words(
        "A {dtype} matrix product on GPU {gpu} fails: {error}",
        "The first forward pass on this card fails the same way.",
        "Find out what is special about this card: its compute capability, its state, the processes on it.",
    ),
    zh=Words(
        "GPU {gpu} 上的 {dtype} 矩阵乘法失败:{error}",
        "在这块卡上的第一次前向传播会同样失败。",
        "查清这块卡的特殊之处:计算能力、状态、占用它的进程。",
    ),
)

HUNG = Message(
    en=Words(
        "A {dtype} matrix product on GPU {gpu} did not end in time",
        "The card accepts work and does not finish it; every rank would wait for this one.",
        "Look for Xid messages of this card in the kernel log, and reset it when it is idle.",
    ),
    zh=Words(
        "GPU {gpu} 上的 {dtype} 矩阵乘法没有在限定时间内结束",
        "该卡接受任务却不完成,所有 rank 都会等待它。",
        "查看内核日志中该卡的 Xid 消息,空闲时重置该卡。",
    ),
)

NOT_FINITE = Message(
    en=Words(
        "A {dtype} matrix product on GPU {gpu} gives numbers that are not finite",
        "The inputs are small and finite, so the card or its library computes wrongly. Training there is garbage.",
        "Take the card out of the run and have it tested.",
    ),
    zh=Words(
        "GPU {gpu} 上的 {dtype} 矩阵乘法得到非有限的数",
        "输入很小且有限,因此是该卡或其库计算有误。在上面训练得到的都是无效结果。",
        "把这块卡移出训练并送检。",
    ),
)

_BY_OUTCOME = {"signal": KILLED, "timeout": HUNG}


def _message(each: Matmul) -> Message | None:
    """Words for one product, None for a good one and for a dtype that the card does not have."""
    if each.outcome == "ok":
        return NOT_FINITE if each.finite is False else None
    return _BY_OUTCOME.get(each.outcome, RAISED)


@check(PROBLEM, requires=("CUD006",))
def matmul_fails(deep: Deep) -> Judgement:
    """One finding a card: the first product that went wrong."""
    told: set[int] = set()
    for each in deep.matmuls:
        message = _message(each)
        if message is None or each.gpu in told:
            continue
        told.add(each.gpu)
        yield found(
            PROBLEM,
            message,
            where=Where(gpu=each.gpu),
            commands=("sudo dmesg | grep -i xid", f"nvidia-smi -q -i {each.gpu}"),
            evidence=(Evidence(f"{each.dtype} product on GPU {each.gpu}", each.error or each.signal or each.outcome),),
            gpu=each.gpu,
            dtype=each.dtype,
            signal=each.signal,
            error=(each.error or "no message").rstrip("."),
        )
