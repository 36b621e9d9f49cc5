"""A worker process of `Dataset.map` ended without a word.

## What it means
`datasets` starts `num_proc` processes, each of which loads the tokenizer or processor and holds its share of the
data. When the system ends one of them (most often for memory) or it crashes in native code, the parent only sees
that it is gone.
## What it does to a run
RuntimeError while the dataset is prepared, often near the end.
## What to do
Fewer processes, smaller batches; one process shows the true exception.
## How it is found
In a log: by the exception. Where the kernel's OOM killer is in the log too, that is told instead.
## References
https://github.com/hiyouga/LlamaFactory/issues/6762
https://github.com/unslothai/unsloth/issues/2693
https://github.com/unslothai/unsloth-zoo/issues/87
https://github.com/huggingface/datasets/blob/main/src/datasets/utils/py_utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT029", name="map-worker-died", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"One of the subprocesses has abruptly died during map operation", symptom_of=("MEM", "HST", "CKP")),
    Signature(r"\(num_proc=(?P<processes>\d{1,4})\):", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a worker process of `Dataset.map` ended without a word{count}",
        "The system ended it, nearly always for memory (each process holds a copy of the tokenizer and its share of "
        "the data; images and long texts multiply it), or it crashed in native code. It has nothing to do with the "
        "GPU.",
        "Use fewer processes: `dataset_num_proc` (TRL, Unsloth, ms-swift), `preprocessing_num_workers` "
        "(LLaMA-Factory), `num_proc` of `map`; at most the number of CPU cores. See `dmesg -T | grep -i 'killed "
        "process'` and `free -g`, in a container its memory limit and `/dev/shm`. With one process "
        "(`num_proc=None`) an exception shows itself. For images: lazy or streaming preparation, a smaller "
        "`writer_batch_size`.",
    ),
    zh=Words(
        "`Dataset.map` 的一个工作进程无声退出{count_zh}",
        "它被系统结束,几乎总是因为内存(每个进程都持有一份分词器和自己那部分数据;图像和长文本会成倍放大),"
        "或在本地代码中崩溃。与 GPU 无关。",
        "减少进程数:`dataset_num_proc`(TRL、Unsloth、ms-swift)、`preprocessing_num_workers`(LLaMA-Factory)、`map` 的 "
        "`num_proc`;不要超过 CPU 核数。查看 `dmesg -T | grep -i 'killed process'` 和 `free -g`,容器中还要看内存上限和 "
        "`/dev/shm`。用单进程(`num_proc=None`)可看到真正的异常。图像数据:使用惰性或流式处理,减小 `writer_batch_size`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """With the number of processes where the progress bar tells it."""
    if not hits.of(0):
        return None
    processes = hits.of(1)[-1].groups["processes"] if hits.of(1) else None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        count=f" ({processes} processes were started)" if processes else "",
        count_zh=f"(共启动 {processes} 个进程)" if processes else "",
    )  # fmt: skip
