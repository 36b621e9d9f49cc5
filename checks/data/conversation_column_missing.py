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
https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md
https://github.com/hiyouga/LlamaFactory/issues/5503
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT030", name="conversation-column-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^KeyError: '(?P<column>messages)'", frame=r"[\\/]swift[\\/]\S{0,80}template"),
    Signature(
        r"^KeyError: '(?P<column>\w{1,60})'",
        frame=r"(?:llamafactory|llmtuner)[\\/]data[\\/](?:aligner|converter|loader)\.py:",
    ),
)

FACTORY = Message(
    en=Words(
        "the dataset has no `{column}`, which `dataset_info.json` tells LLaMA-Factory to read",
        "Its entry in `dataset_info.json` says in which columns and under which tags the conversation lies; what it "
        "does "
        'not say is taken by default (`"messages": "conversations"`, tags `from` and `value` for `sharegpt`; '
        "`instruction`, `input`, `output` for `alpaca`). The file has other names.",
        'Write the names of the file into the entry: `"formatting": "sharegpt", "columns": {{"messages": "messages"}}, '
        '"tags": {{"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}}`, '
        "for "
        'instructions `"columns": {{"prompt": "instruction", "query": "input", "response": "output"}}`. See one row: '
        "`head "
        "-c 400 FILE`; every row needs the column. Then `overwrite_cache: true`.",
    ),
    zh=Words(
        "数据集没有 `{column}`,而 `dataset_info.json` 让 LLaMA-Factory 读取它",
        '`dataset_info.json` 中的条目说明对话位于哪些列、使用哪些标签;未写的取默认值(`sharegpt` 为 `"messages": '
        '"conversations"`,'
        "标签 `from` 和 `value`;`alpaca` 为 `instruction`、`input`、`output`)。文件中使用了别的名称。",
        '把文件中的名称写入条目:`"formatting": "sharegpt", "columns": {{"messages": "messages"}}, "tags": '
        '{{"role_tag": "role", '
        '"content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}}`;指令数据为 `"columns": '
        '{{"prompt": '
        '"instruction", "query": "input", "response": "output"}}`。用 `head -c 400 FILE` 查看一行;每行都需要该列。然后'
        "设 "
        "`overwrite_cache: true`。",
    ),
)

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


def explain(hits: Hits) -> Finding:
    """Each framework names its columns in a place of its own."""
    message = FACTORY if hits.of(1) else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, column=hits.get("column")
    )
