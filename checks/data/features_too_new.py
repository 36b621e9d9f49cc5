"""The dataset was written by a newer release of the datasets library.

## What it means
datasets 4.0 stores lists as the feature type `List` in the metadata of a dataset; older releases do not
know it. Other new types fail likewise.
## What it does to a run
`load_dataset` or `load_from_disk` raises ValueError before the first row.
## What to do
Upgrade the datasets library on the machine that reads.
## How it is found
In a log: by the unknown feature type.
## References
https://github.com/huggingface/datasets/releases/tag/4.0.0
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/features/features.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT018", name="dataset-features-too-new", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"ValueError: Feature type '(?P<feature>\w{1,40})' not found\. Available feature types"),)

LOG_MESSAGE = Message(
    en=Words(
        "the installed `datasets` does not know the feature type `{feature}` of this dataset",
        "The dataset was saved by a newer release of the library, or sits in a cache that one wrote "
        "(`List` came with 4.0.0).",
        "Upgrade: `pip install -U datasets`; or load the original files again with the old release after "
        "removing the cached copy.",
    ),
    zh=Words(
        "已安装的 `datasets` 不认识该数据集的特征类型 `{feature}`",
        "该数据集由更新版本的库保存,或位于新版本写入的缓存中(`List` 自 4.0.0 起才有)。",
        "升级:`pip install -U datasets`;或删除缓存副本后用旧版本重新加载原始文件。",
    ),
)

LOG_COMMANDS = ("pip install -U datasets",)
