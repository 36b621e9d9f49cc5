"""One field of the data holds values of different types.

## What it means
Arrow gives a column one type. A field that is a number in one row and text, a list or an object in another has none,
and neither has a file whose rows were guessed from its beginning and differ later.
## What it does to a run
`load_dataset`, `Dataset.from_list` or `map` raises, before training.
## What to do
Write the field in one form in all rows, or name its type.
## How it is found
In a log: by Arrow's words about the conversion, which name both types.
## References
https://arrow.apache.org/docs/python/json.html
https://huggingface.co/docs/datasets/loading#json
https://github.com/modelscope/ms-swift/issues/2634
https://github.com/InternLM/xtuner/issues/469
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT032", name="field-of-two-types", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ArrowInvalid'?>?: JSON parse error: Column\(/?(?P<column>[^)\n]{1,200})\) changed from (?P<first>\w{1,30}) "
        r"to "
        r"(?P<second>\w{1,30}) in row",
    ),
    Signature(
        r"ArrowInvalid'?>?: Could not convert [^\n]{0,2000}with type (?P<second>[\w.]{1,60}): tried to "
        r"convert to (?P<first>\w{1,60})"
    ),
    Signature(r"ArrowTypeError'?>?: Expected (?P<first>bytes), got a '(?P<second>[\w.]{1,60})' object"),
    Signature(r"ArrowInvalid'?>?: cannot mix (?P<first>list|struct) and (?P<second>non-list|non-struct),"),
    Signature(r"ArrowInvalid'?>?: JSON parse error: Column\(\) changed from object to array in row 0", kind="sign"),
    Signature(
        r"TypeError: Couldn't cast array of type "
        r"(?P<cast>struct|list|(?:large_)?string|int64|double|bool|null|dictionary)"
        r"\b"
    ),
    Signature(r"ArrowNotImplementedError'?>?: Unsupported cast from (?P<cast>struct|list|string|int64|double|bool)\b"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a field of the dataset has values of two types: {first} and {second}{column}",
        "A column has one type for all rows. The reader took it from the first rows, and a later row holds "
        "something else, such as a number instead of a string, a list instead of text, or an object with "
        "other fields.",
        "Write that field in one form everywhere: numbers and ids as strings, `content` always text or "
        'always a list, nested objects as JSON text (`json.dumps`). To find the rows: `python -c "import '
        "json, collections; print(collections.Counter((k, type(v).__name__) for l in open('FILE') for k, v "
        "in json.loads(l).items()))\"` (a list in one file: `for r in json.load(open('FILE'))`). Or name "
        "the types: `load_dataset(..., features=Features(...))`.",
    ),
    zh=Words(
        "数据集的某个字段有两种类型的值:{first} 和 {second}{column_zh}",
        "一列在所有行中只能有一种类型。读取器根据前面的行确定类型,而后面某行是别的,例如数字而非字符串、列表"
        "而非文本、或字段不同的对象。",
        "在所有行中用同一种形式写该字段:数字和 id 写成字符串,`content` 始终为文本或始终为列表,嵌套对象写成"
        ' JSON 文本(`json.dumps`)。查找这些行:`python -c "import json, collections; '
        "print(collections.Counter((k, type(v).__name__) for l in open('FILE') for k, v in "
        "json.loads(l).items()))\"`(文件是一个列表时:`for r in json.load(open('FILE'))`)。或直接给出类型"
        ":`load_dataset(..., features=Features(...))`。",
    ),
)


CAST = Message(
    en=Words(
        "rows of the dataset hold {kind} values of different layouts in one column",
        "A column has one type, nested fields included. Here a later file, batch or dataset brings other fields than "
        "the "
        "first one: tool definitions with parameters of their own, metadata objects, `null` in one and text in "
        "another.",
        "Store such a column as text and parse it where it is used: `row['tools'] = json.dumps(row['tools'])` (TRL, "
        "veRL "
        "and ms-swift take tools as JSON text). Drop it where it is not needed (`remove_columns`), or give all parts "
        "the "
        "same types: `dataset.cast(features)` before `concatenate_datasets`, `load_dataset(..., features=...)`.",
    ),
    zh=Words(
        "数据集同一列中的 {kind} 值结构不同",
        "一列只有一种类型,嵌套字段也包括在内。此处后面的文件、批次或数据集带有与前面不同的字段:参数各异的工具定义、元"
        "数据对象,"
        "或一处为 `null` 另一处为文本。",
        "把这样的列存为文本并在使用处解析:`row['tools'] = json.dumps(row['tools'])`(TRL、veRL、ms-swift 都接受 JSON 文"
        "本的 "
        "tools)。不需要时删除(`remove_columns`),或让各部分类型一致:`concatenate_datasets` 之前 `dataset.cast(features)"
        "`,"
        "`load_dataset(..., features=...)`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name both types, and the column where Arrow does."""
    if all(hit.signature == 4 for hit in hits):
        return None
    column = hits.get("column")
    first, second = hits.get("first") or "", hits.get("second") or ""
    if kind := hits.get("cast"):
        return found(PROBLEM, CAST, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, kind=f"`{kind}`")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        first=f"`{first}`", second=f"`{second}`", column=f" (`{column}`)" if column else "",
        column_zh=f"(`{column}`)" if column else "",
    )  # fmt: skip
