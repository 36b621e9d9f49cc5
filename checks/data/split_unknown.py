"""The dataset has no split of the name that was asked for.

## What it means
A split (`train`, `test`, ...) exists only where the dataset's author made it; a folder of local files has
`train` alone.
## What it does to a run
`load_dataset` raises ValueError, or indexing raises KeyError, before training starts.
## What to do
Ask for one of the splits that the message lists, or cut one off with `train_test_split`.
## How it is found
In a log: by the exception, which lists the splits.
## References
https://huggingface.co/docs/datasets/loading#slice-splits
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/arrow_reader.py
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/dataset_dict.py
https://github.com/TIGER-AI-Lab/VLM2Vec/issues/82
https://github.com/huggingface/trl/pull/6493
https://github.com/nomic-ai/gpt4all/pull/174
https://github.com/Polygl0t/llm-foundry/issues/73
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT016", name="dataset-split-unknown", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r'ValueError: Unknown split "(?P<split>[^"\n]{1,60})"\. Should be one of'
        r" (?P<splits>\[[^\]\n]{1,300}\])",
    ),
    Signature(
        r"^KeyError: \"Invalid key: (?P<row>[^\n]{1,60}?)\. Please first select a split\.[^\n]{1,200}Available splits: "
        r"(?P<splits>\[[^\]\n]{1,300}\])",
    ),
    Signature(
        r"^AttributeError: '(?:Iterable)?DatasetDict' object has no attribute '(?P<method>train_test_split|select|"
        r"features|to_pandas|to_list|add_column|iter|take|skip|info)'"
    ),
    Signature(
        r"^AttributeError: '(?:Iterable)?Dataset' object has no attribute '(?P<mapping>get|keys|items|values|pop)'",
    ),
    Signature(r"^KeyError: '(?P<split>[^'\n]{1,60})'", frame=r"[\\/]datasets[\\/]dataset_dict\.py:__getitem__$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the dataset has no split `{split}`; it has {splits}",
        "Only the splits that the author of the dataset made can be loaded by name.",
        'Use one of {splits}, or make one: `dataset["train"].train_test_split(test_size=0.05)`; in TRL\'s scripts '
        "the names are `--dataset_train_split` and `--dataset_test_split`.",
    ),
    zh=Words(
        "数据集没有 `{split}` 划分;它有 {splits}",
        "只能按名称加载数据集作者提供的划分。",
        '使用 {splits} 之一,或自行切分:`dataset["train"].train_test_split(test_size=0.05)`;在 TRL 脚本中对应 '
        "`--dataset_train_split` 和 `--dataset_test_split`。",
    ),
)

#: a KeyError does not list the splits
UNLISTED = Message(
    en=Words(
        "`{split}` was asked of the loaded dataset as a split, and it has none of that name",
        "`load_dataset` without `split=` gives one dataset for every split that there is, by its name.",
        "See them: `print(dataset)`. If `{split}` is a column, choose the split first: "
        '`dataset["train"]["{split}"]`. Else use one that is there, or make it: '
        '`dataset["train"].train_test_split(test_size=0.05)`; in TRL\'s scripts the names are '
        "`--dataset_train_split` and `--dataset_test_split`.",
    ),
    zh=Words(
        "把 `{split}` 当作划分(split)从数据集中取用,而数据集没有该名称的划分",
        "不带 `split=` 的 `load_dataset` 按名称返回各个划分。",
        '查看:`print(dataset)`。若 `{split}` 是列名,请先选择划分:`dataset["train"]["{split}"]`。否则使用已有的划分,或'
        '自行切分:`dataset["train"].train_test_split(test_size=0.05)`;在 '
        "TRL 脚本中对应 `--dataset_train_split` 和 `--dataset_test_split`。",
    ),
)


#: the rows were asked of all splits together
WHOLE = Message(
    en=Words(
        "rows were asked of the whole `DatasetDict`, not of one of its splits: {splits}",
        "`load_dataset` without `split=` gives one dataset for every split by its name. It was handed on as if it were "
        "one dataset, to a trainer (`train_dataset=`) or to code that takes rows by number.",
        'Hand over one split: `load_dataset(..., split="{split}")`, or `train_dataset=dataset["{split}"]` and '
        "`eval_dataset=` another.",
    ),
    zh=Words(
        "向整个 `DatasetDict` 而不是其中一个划分索取数据行:{splits}",
        "不带 `split=` 的 `load_dataset` 按名称返回各个划分。它被当作单个数据集传给了训练器(`train_dataset=`)或按序号"
        "取行的代码。",
        '只传入一个划分:`load_dataset(..., split="{split}")`,或 `train_dataset=dataset["{split}"]`,`eval_dataset=` 用'
        "另一个。",
    ),
)


#: `load_dataset` gives the one class or the other
TOGETHER = Message(
    en=Words(
        "`.{method}` was asked of a `DatasetDict`, which only each of its splits has",
        "`load_dataset` without `split=` gives one dataset for every split by its name; the code expects a single one.",
        'Take one split: `load_dataset(..., split="train")` or `dataset["train"]`, and call `.{method}` on that.',
    ),
    zh=Words(
        "向 `DatasetDict` 要求 `.{method}`,而只有其中的各个划分才有",
        "不带 `split=` 的 `load_dataset` 按名称返回各个划分;代码期望的是单个数据集。",
        '取一个划分:`load_dataset(..., split="train")` 或 `dataset["train"]`,再对它调用 `.{method}`。',
    ),
)
SINGLE = Message(
    en=Words(
        "`.{mapping}` was asked of a single `Dataset`, where the code expects one for every split",
        "`load_dataset(..., split=...)`, `load_from_disk` of one split and functions that leave the division out "
        "return a `Dataset`; `get`, `keys` and `items` are those of a `DatasetDict`.",
        'Wrap it: `datasets.DatasetDict({{"train": dataset}})`, or divide it: '
        "`dataset.train_test_split(test_size=0.05)`; or leave `split=` out where it is loaded. A script that has a "
        "setting for the share of the test set may need it set.",
    ),
    zh=Words(
        "向单个 `Dataset` 要求 `.{mapping}`,而代码期望按划分组织的 `DatasetDict`",
        "`load_dataset(..., split=...)`、对单个划分的 `load_from_disk`,以及未做划分的函数返回 `Dataset`;`get`、`keys`、"
        "`items` 属于 `DatasetDict`。",
        '包装它:`datasets.DatasetDict({{"train": dataset}})`,或划分:`dataset.train_test_split(test_size=0.05)`;或在加载'
        "处去掉 `split=`。若脚本有测试集比例的设置,可能需要设置它。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the splits that exist."""
    asked = hits.first.groups.get("method") or hits.first.groups.get("mapping")
    if asked:
        message = TOGETHER if hits.first.groups.get("method") else SINGLE
        return found(
            PROBLEM,
            message,
            where=hits.where(),
            evidence=hits.evidence(),
            confidence=LIKELY,
            method=asked,
            mapping=asked,
        )
    if not hits.get("splits"):
        return found(PROBLEM, UNLISTED, where=hits.where(), evidence=hits.evidence(), split=hits.get("split"))
    names = re.findall(r"'([^']{1,60})'", hits.get("splits") or "")
    splits = ", ".join(f"`{name}`" for name in names[:8]) or "none"
    where, evidence = hits.where(), hits.evidence()
    if hits.of(1) and names:
        split = "train" if "train" in names else names[0]
        return found(PROBLEM, WHOLE, where=where, evidence=evidence, splits=splits, split=split)
    return found(PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, split=hits.get("split"), splits=splits)
