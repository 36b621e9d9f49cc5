"""The dataset is loaded by a script, which datasets 4 no longer runs.

## What it means
Some older datasets on the Hub come as a Python script. Since 4.0 the library reads data files only and
ignores `trust_remote_code`.
## What it does to a run
`load_dataset` raises RuntimeError before anything is downloaded.
## What to do
Use a copy of the dataset in Parquet (`revision="refs/convert/parquet"` where the Hub made one), or install
datasets below 4.
## How it is found
In a log: by the exception of `load_dataset`.
## References
https://github.com/huggingface/datasets/releases/tag/4.0.0
https://github.com/huggingface/datasets/blob/4.0.0/src/datasets/load.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(
    id="DAT015", name="dataset-script-unsupported", severity=ERROR, since="0.1", affects={"datasets": ">=4"}
)

SIGNATURES = (Signature(r"RuntimeError: Dataset scripts are no longer supported, but found (?P<script>[^\s]{1,120})"),)

LOG_MESSAGE = Message(
    en=Words(
        "the dataset is a script (`{script}`), which `datasets` 4 no longer runs",
        "Since 4.0.0 the library only reads data files; `trust_remote_code=True` changes nothing.",
        "Load the Parquet copy that the Hub makes: `load_dataset(NAME, "
        'revision="refs/convert/parquet")`, or pin the library: `pip install "datasets<4"`.',
    ),
    zh=Words(
        "该数据集是脚本(`{script}`),`datasets` 4 已不再运行脚本",
        "自 4.0.0 起该库只读取数据文件;`trust_remote_code=True` 不起作用。",
        '加载 Hub 生成的 Parquet 副本:`load_dataset(NAME, revision="refs/convert/parquet")`,或固定版本'
        ':`pip install "datasets<4"`。',
    ),
)

LOG_COMMANDS = ('pip install "datasets<4"',)
