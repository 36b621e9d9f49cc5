"""A column of a dataset is used as the list that it was before datasets 4.

## What it means
Since datasets 4.0 `dataset["column"]` gives a lazy `Column`, which can be walked through and indexed, and is
neither list, array nor tensor.
## What it does to a run
AttributeError or TypeError where code (a script, or a library of an earlier time) calls what lists and arrays have.
## What to do
Make it a list first, or install a library that knows of it, or datasets below 4.
## How it is found
In a log: by the exception that names the type `Column`.
## References
https://github.com/huggingface/datasets/releases/tag/4.0.0
https://github.com/modelscope/ms-swift/issues/5279
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT056", name="column-of-datasets-4", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^AttributeError: 'Column' object has no attribute '(?P<name>\w{1,60})'"),
    Signature(r"^TypeError: 'Column' object (?P<what>is not|does not support|cannot be)"),
    Signature(
        r"^TypeError: [^\n]{1,160}(?:\(not \"Column\"\)|'Column' and|and 'Column'|not Column$|type Column\b|'Column'$)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a dataset's column is used like a list or array{name}, and datasets 4 gives a lazy `Column`",
        'Since datasets 4.0 `dataset["column"]` is no list: it has no methods of lists, arrays or tensors. Code from '
        "before "
        "(a script, ms-swift, a notebook) does not know that.",
        'In own code: `list(dataset["column"])`, `dataset["column"][:]`, or `dataset.with_format("numpy")`. In a '
        "library: "
        'upgrade it, or pin the older one: `pip install "datasets<4"` (3.6.0 is the last).',
    ),
    zh=Words(
        "数据集的列被当作列表或数组使用{name},而 datasets 4 返回惰性的 `Column`",
        '自 datasets 4.0 起,`dataset["column"]` 不再是列表,没有列表、数组或张量的方法。之前的代码(脚本、ms-swift、笔记'
        "本)"
        "不知道这一点。",
        '自己的代码中:`list(dataset["column"])`、`dataset["column"][:]`,或 `dataset.with_format("numpy")`。若在库中:升'
        "级该"
        '库,或固定旧版本:`pip install "datasets<4"`(3.6.0 是最后一个)。',
    ),
)


def explain(hits: Hits) -> Finding:
    """Name the attribute that was asked for, where one was."""
    name = hits.get("name")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        name=f" (`{name}`)" if name else "",
    )  # fmt: skip
