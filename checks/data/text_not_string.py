"""The tokenizer was given something that is no text.

## What it means
A row is None (an empty cell of a CSV, a missing key), a number, a list of messages or a nested list, where
the tokenizer takes a string or a list of strings.
## What it does to a run
Tokenizing raises TypeError or ValueError, often only at one row among many.
## What to do
Drop or convert those rows; apply the chat template to messages first.
## How it is found
In a log: by the tokenizer's exception.
## References
https://huggingface.co/docs/tokenizers/api/input-sequences
https://huggingface.co/docs/transformers/chat_templating
https://github.com/huggingface/course/pull/1217
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT025", name="text-not-a-string", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"TypeError: TextEncodeInput must be Union\[TextInputSequence, Tuple\[InputSequence, InputSequence\]\]"),
    Signature(r"ValueError: text input must be of type `str` \(single example\)"),
    Signature(r"TypeError: TextInputSequence must be str"),
    Signature(
        r"^(?:AttributeError: 'NoneType' object has no attribute '(?:endswith|startswith|strip|split|lower|replace)'"
        r"|TypeError: (?:can only concatenate str \(not \"NoneType\"\) to str|unsupported operand type\(s\) for \+: "
        r"'(?:NoneType|str)' and '(?:NoneType|str)'))",
        frame=r"[\\/]trl[\\/](?:trainer[\\/]\w+|data_utils|extras[\\/]\w+)\.py:(?:add_eos|tokenize\w*|tokenize_fn|_tokenize|"
        r"extract_prompt|maybe_\w+|apply_chat_template|process_row)$",
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "the tokenizer was given something that is not text",
        "At least one row is None, a number, or a list of messages instead of a string.",
        'Look for such rows (`dataset.filter(lambda row: not isinstance(row["text"], str))`), drop or convert them '
        '(`str(x)`, `""`), and turn messages into text first: `tokenizer.apply_chat_template(messages, '
        "tokenize=False)`. Check that `dataset_text_field` or the `formatting_func` names a text column.",
    ),
    zh=Words(
        "分词器收到的不是文本",
        "至少有一行是 None、数字或消息列表,而不是字符串。",
        '查找这些行(`dataset.filter(lambda row: not isinstance(row["text"], str))`),去掉或转换(`str(x)`、`""`),消息'
        "先转成文本:`tokenizer.apply_chat_template(messages, tokenize=False)`。检查 `dataset_text_field` 或 "
        "`formatting_func` 指的是文本列。",
    ),
)

WHOLE = Message(
    en=Words(
        "the tokenizer was called with something that is neither text nor a list of texts",
        "It looks at the argument itself and at the first entry of a list: `None`, a dict, an array, a pandas Series, "
        'a column of datasets 4 (`dataset["text"]` is a lazy `Column` since then, no list), or a list that begins '
        "with a number, `None` or a message.",
        'Print `type(x)` before the call. A column: `tokenizer(list(dataset["text"]))`, or tokenize in '
        "`dataset.map(..., batched=True)`, whose batches hold lists. Messages: `tokenizer.apply_chat_template"
        "(messages, tokenize=False)` first. Numbers and empty cells: `str(x)`, or drop such rows.",
    ),
    zh=Words(
        "调用分词器时传入的既不是文本,也不是文本列表",
        '它检查参数本身以及列表的第一项:`None`、dict、数组、pandas Series、datasets 4 的列(此后 `dataset["text"]` 是惰'
        "性的 `Column`,不是列表),或以数字、`None`、消息开头的列表。",
        '在调用前打印 `type(x)`。若是列:`tokenizer(list(dataset["text"]))`,或在 `dataset.map(..., batched=True)` 中'
        "分词,其批次为列表。若是消息:先 `tokenizer.apply_chat_template(messages, tokenize=False)`。数字与空单元格:"
        "`str(x)`,或删除这些行。",
    ),
)


def explain(hits: Hits) -> Finding:
    """One of the messages speaks of the whole argument, the others of a row."""
    message = WHOLE if hits.first.signature == 1 else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())
