"""Accelerate reads each batch on the first process and cannot cut it.

## What it means
For an iterable dataset the first process reads for all (`dispatch_batches`), joins the batches along the first
dimension and cuts them. Every field must be a tensor of one length.
## What it does to a run
TypeError or RuntimeError at the first batch.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/accelerate/package_reference/utilities#accelerate.DataLoaderConfiguration
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/data_loader.py
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="ACC021", name="batches-cannot-be-joined", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"TypeError: Can only concatenate tensors but got <class '(?P<kind>[\w.]{1,60})'>",
        Message(
            en=Words(
                "a batch holds a `{kind}` where Accelerate joins tensors",
                "The dataset is iterable (streaming), so the first process reads for all, and a field of the "
                "batch is no tensor: text, None, a number.",
                '`accelerator_config={{"dispatch_batches": False}}` in the training arguments (each process '
                "reads for itself), or let the collator return tensors only.",
            ),
            zh=Words(
                "批次中有 `{kind}`,而 Accelerate 需要拼接张量",
                "数据集是可迭代的(流式),由第一个进程为全部进程读取,而批次中某字段不是张量:文本、None 或数字。",
                '训练参数中设 `accelerator_config={{"dispatch_batches": False}}`(各进程自行读取),或让 collator 只'
                "返回张量。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: You can.t use batches of different size with `dispatch_batches=True` or when "
            r"using an `IterableDataset`"
        ),
        Message(
            en=Words(
                "batches of an iterable dataset differ in size, and one process reads them for all",
                "It joins one batch for each process; rows are padded to the longest of their own batch, so the "
                "lengths differ (or the last one is shorter).",
                '`accelerator_config={{"dispatch_batches": False}}`, or `{{"split_batches": True}}` with a '
                "`per_device_train_batch_size` that the number of processes divides; or pad all to one length.",
            ),
            zh=Words(
                "可迭代数据集的批次大小不同,而由第一个进程为全部进程读取",
                "它为每个进程拼接一个批次;各批次只填充到自己的最长行,因此长度不同(或最后一个较短)。",
                '`accelerator_config={{"dispatch_batches": False}}`,或 `{{"split_batches": True}}` 且 '
                "`per_device_train_batch_size` 能被进程数整除;或全部填充到同一长度。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?:To use a `DataLoader` in `split_batches` mode, the|Using `split_batches=True` requires "
            r"that the) batch size \((?P<size>\d{1,9})\) (?:needs to|to) be a round multiple of the number of "
            r"processes \((?P<processes>\d{1,6})\)"
        ),
        Message(
            en=Words(
                "`split_batches` cuts each batch over the processes, and {processes} processes do not divide {size}",
                "With `split_batches=True` the batch size of the loader is that of all processes together. "
                "`accelerate test` checks with a batch of 8, so it fails with 3, 5, 6 or 7 processes although "
                "training works.",
                "Make the batch size a multiple of {processes}, start another number of processes "
                "(`--num_processes`), or turn `split_batches` off. If only `accelerate test` says so, go on: it is "
                "no fault of the machine.",
            ),
            zh=Words(
                "`split_batches` 把每个批次切给各进程,而 {size} 不能被 {processes} 个进程整除",
                "`split_batches=True` 时,加载器的批次大小是所有进程合计的大小。`accelerate test` 用 8 的批次检查,因"
                "此 3、5、6、7 个进程时会失败,尽管训练可行。",
                "让批次大小为 {processes} 的倍数,换一个进程数(`--num_processes`),或关闭 `split_batches`。"
                "若只有 `accelerate test` 报错,可继续:机器没有问题。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
