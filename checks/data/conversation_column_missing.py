"""ms-swift finds no conversation in the rows of the dataset.

## What it means
ms-swift brings every dataset into rows with `messages` (from `messages`, `conversations`, `query` and `response`,
`instruction`/`input`/`output` ...). Columns under other names are left out unless they are mapped, and a row without
any of them has no `messages`.
## What it does to a run
Each row is replaced by another one at random, with a traceback, until the loader gives up.
## What to do
Rename the columns, or map them.
## How it is found
In a log: by KeyError 'messages' inside of ms-swift's template.
## References
https://swift.readthedocs.io/en/latest/Customization/Custom-dataset.html
https://github.com/modelscope/ms-swift/issues/6153
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="DAT030", name="conversation-column-missing", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"^KeyError: '(?P<column>messages)'", frame=r"[\\/]swift[\\/]\S{0,80}template"),)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "rows of the dataset hold no `{column}` that ms-swift recognises",
        "It builds the conversation from columns with known names and leaves the others out. Rows without one are "
        "replaced at random until the loader gives up, so nothing of the data was trained on.",
        'Write one object a line: `{{"messages": [{{"role": "user", "content": "..."}}, {{"role": "assistant", '
        '"content": "..."}}], "images": ["..."]}}`, or map the names: `--columns \'{{"question": "query", "answer": '
        '"response"}}\'`. Look at one row: `head -n 1 FILE`; delete the dataset cache or pass '
        "`--load_from_cache_file false` after a change. `--strict true` stops at the first bad row.",
    ),
    zh=Words(
        "数据集的行中没有 ms-swift 能识别的 `{column}`",
        "它从已知名称的列构造对话,其余列被忽略。没有对话的行会被随机替换,直到加载器放弃,因此没有任何数据被用于训练。",
        '每行写一个对象:`{{"messages": [{{"role": "user", "content": "..."}}, {{"role": "assistant", "content": '
        '"..."}}], "images": ["..."]}}`,或映射列名:`--columns \'{{"question": "query", "answer": '
        '"response"}}\'`。用 `head -n 1 FILE` 查看一行;修改后删除数据集缓存或传入 `--load_from_cache_file false`。'
        "`--strict true` 会在第一个坏行处停止。",
    ),
)
