"""Options of torch's DataLoader contradict each other.

## What it means
Some options only make sense with worker processes, and some exclude each other: a sampler decides about the order, so
nothing can be shuffled beside it; an iterable dataset gives its own order.
## What it does to a run
ValueError when the loader is made, before the first step.
## What to do
Drop one of the two options.
## How it is found
In a log: by torch's own words.
## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
https://github.com/deepseek-ai/DeepSpec/pull/40
https://github.com/modelscope/ms-swift/pull/10123
https://github.com/ultralytics/yolov3/issues/231
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT060", name="loader-options-contradict", severity=ERROR, since="0.1")

CASES = (
    (
        (
            r"ValueError: (?P<option>prefetch_factor|persistent_workers) option (?:could only be specified in|needs "
            r"num_workers)"
        ),
        Message(
            en=Words(
                "`{option}` is set and the data loader has no worker processes (`num_workers` is 0)",
                "The option is about worker processes, and without them the batches are made in the main process.",
                "Set `num_workers` (`dataloader_num_workers`) to 1 or more, or leave the option out: "
                "`prefetch_factor=None`, `persistent_workers=False` (`dataloader_persistent_workers`). Where a "
                "library sets it by itself, upgrade the library.",
            ),
            zh=Words(
                "设置了 `{option}`,而数据加载器没有工作进程(`num_workers` 为 0)",
                "该选项针对工作进程;没有工作进程时批次在主进程中生成。",
                "把 `num_workers`(`dataloader_num_workers`)设为 1 或更大,或去掉该选项:`prefetch_factor=None`、"
                "`persistent_workers=False`(`dataloader_persistent_workers`)。若由库自行设置,请升级该库。",
            ),
        ),
    ),
    (
        r"ValueError: (?P<option>sampler) option is mutually exclusive with shuffle",
        Message(
            en=Words(
                "the data loader is given a `sampler` and `shuffle=True`",
                "The sampler decides about the order; in distributed training it is often a DistributedSampler, "
                "which shuffles by itself.",
                "Pass `shuffle=(sampler is None)` (or `shuffle=False`) and let the sampler shuffle: "
                "`DistributedSampler(dataset, shuffle=True)` with `sampler.set_epoch(epoch)` in every epoch.",
            ),
            zh=Words(
                "数据加载器同时得到 `sampler` 和 `shuffle=True`",
                "顺序由 sampler 决定;分布式训练中它通常是会自行打乱的 DistributedSampler。",
                "传入 `shuffle=(sampler is None)`(或 `shuffle=False`),由 sampler 打乱:`DistributedSampler(dataset, "
                "shuffle=True)`,并在每个 epoch 调用 `sampler.set_epoch(epoch)`。",
            ),
        ),
    ),
    (
        r"ValueError: batch_sampler option is mutually exclusive with",
        Message(
            en=Words(
                "the data loader is given a `batch_sampler` beside a batch size or an order",
                "A batch sampler decides about order and size of the batches alone.",
                "Leave the other four out (`batch_size=1`, the default, counts as left out).",
            ),
            zh=Words(
                "数据加载器在 `batch_sampler` 之外又得到 `batch_size`、`shuffle`、`sampler` 或 `drop_last`",
                "批次的顺序和大小由 batch sampler 独自决定。",
                "去掉其余四项(默认的 `batch_size=1` 视为未给出)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: DataLoader with IterableDataset: expected unspecified (?P<option>shuffle|sampler|"
            r"batch_sampler) option"
        ),
        Message(
            en=Words(
                "`{option}` is given for an iterable (streaming) dataset, which has an order of its own",
                "Such a dataset has no length and no index, so the loader can neither shuffle nor choose.",
                "Leave `{option}` out and shuffle in the dataset: `dataset.shuffle(buffer_size=10_000)`; with "
                "several processes split it by `split_dataset_by_node(dataset, rank, world_size)`. Or load it whole "
                "(`streaming=False`).",
            ),
            zh=Words(
                "为可迭代(流式)数据集设置了 `{option}`,而它有自己的顺序",
                "这种数据集没有长度和索引,加载器既不能打乱也不能选取。",
                "去掉 `{option}`,在数据集中打乱:`dataset.shuffle(buffer_size=10_000)`;多进程时用 "
                "`split_dataset_by_node(dataset, rank, world_size)` 划分。或完整加载(`streaming=False`)。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
