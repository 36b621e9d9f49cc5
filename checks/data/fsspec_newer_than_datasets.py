"""An older `datasets` does not recognise the file system of a newer fsspec.

## What it means
fsspec 2023.10 made the protocol of the local file system a pair. `datasets` before 2.14.6 compares it with a text,
takes the local cache for a remote one and refuses it.
## What it does to a run
`load_dataset` raises after the data was prepared.
## What to do
Upgrade `datasets`, or pin fsspec.
## How it is found
In a log: by the words of `datasets`.
## References
https://github.com/huggingface/datasets/issues/6352
https://github.com/huggingface/datasets/issues/6330
https://github.com/googlecolab/colabtools/issues/5338
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT036", name="fsspec-newer-than-datasets", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"NotImplementedError: Loading a (?:streaming )?dataset cached in a LocalFileSystem is not supported"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed `datasets` is older than the `fsspec` beside it and refuses its own cache",
        "fsspec 2023.10 gives the local file system two names; `datasets` before 2.14.6 knows one and "
        "takes the folder for a remote one. The data itself is fine.",
        'Upgrade: `pip install -U datasets`. Where it is pinned: `pip install "fsspec<2023.10"`. In a '
        "notebook restart the kernel afterwards.",
    ),
    zh=Words(
        "已安装的 `datasets` 比旁边的 `fsspec` 旧,拒绝自己的缓存",
        "fsspec 2023.10 为本地文件系统提供了两个名称;2.14.6 之前的 `datasets` 只认识一个,把该目录当作远程。"
        "数据本身没有问题。",
        '升级:`pip install -U datasets`。若版本被固定:`pip install "fsspec<2023.10"`。notebook 中之后需重启内核。',
    ),
)
