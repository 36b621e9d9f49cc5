"""The ranks called different collectives at the same place.

## What it means
With `TORCH_DISTRIBUTED_DEBUG=DETAIL` torch compares what each rank is about to do. They differ when ranks
take other paths: a batch without pictures on one of them, parameters that only some ranks use, buckets built
in another order, a branch on `rank == 0` around a collective.
## What it does to a run
The run ends here; without that setting it would hang until the time-out.
## What to do
Make all ranks do the same, in the same order.
## How it is found
In a log: by torch's comparison, which names ranks and operations.
## References
https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug
https://github.com/QwenLM/Qwen3-VL/issues/1414
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="NCC020", name="collectives-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Detected mismatch between collectives on ranks\. Rank (?P<one>\d{1,6}) is running "
        r"(?:inconsistent )?collective: CollectiveFingerPrint\((?:SequenceNumber=(?P<number>\d{1,12}), "
        r")?OpType=(?P<operation>\w{1,40})"
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "rank {one} called `{operation}` while another rank called something else or with another shape",
        "The ranks have taken different paths: data of another kind on one of them (a batch "
        "without images), parameters that only some use, or a collective inside a branch on the "
        "rank.",
        "Give every rank the same kind of work: a dummy image through the vision tower where a "
        "batch has none, `ddp_find_unused_parameters=True` or frozen towers, no collective "
        "inside `if rank == 0`, equal numbers of batches (`drop_last=True`). The message and "
        "`TORCH_DISTRIBUTED_DEBUG=DETAIL` name shape and order.",
    ),
    zh=Words(
        "rank {one} 调用 `{operation}` 时,另一个 rank 调用了不同的操作或形状不同",
        "各 rank 走了不同的路径:其中一个的数据种类不同(批次中没有图像),只有部分 rank "
        "使用某些参数,或集合通信位于按 rank 分支的代码中。",
        "让每个 rank 做同样的工作:批次没有图像时用一张占位图像经过视觉塔,"
        "`ddp_find_unused_parameters=True` 或冻结视觉塔,不要在 `if rank == 0` 中调用集合通信,"
        "批次数相同(`drop_last=True`)。该消息与 `TORCH_DISTRIBUTED_DEBUG=DETAIL` "
        "会给出形状与顺序。",
    ),
)
