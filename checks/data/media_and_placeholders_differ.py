"""A row holds another number of images, videos or audios than its text has places for.

## What it means
LLaMA-Factory and the processors of multimodal models put each file at a placeholder of the text (`<image>`,
`<video>`, `<audio>`). A row with more of one than of the other cannot be encoded. Often the whole column was not read,
because `dataset_info.json` does not map it or names it in the singular.
## What it does to a run
Tokenizing stops with ValueError, in the worst case after hours.
## What to do
Count both in every row.
## How it is found
In a log: by the words of the framework, which name the kind.
## References
https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md
https://github.com/hiyouga/LlamaFactory/issues/6839
https://github.com/QwenLM/Qwen3-VL/issues/152
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT040", name="media-and-placeholders-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: `len\((?P<kind>image|video|audio)s\)` is less than the number of"),
    Signature(r"ValueError: The number of (?P<kind>image|video|audio)s (?:does|do) not match the number of"),
    Signature(
        r"ValueError: [Tt]he number of (?P<kind>image|video|audio)s? (?:tokens|placeholders) [^\n]{0,80}(?:does|do) "
        r"not match|"
        r"(?:Mismatch|mismatch) in `?(?P<kind_too>image|video|audio)`? token count between text and `input_ids`"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a row of the data has another number of {kind}s than `<{kind}>` places in its text",
        "Each file goes to one placeholder of the text, in order. Either single rows are wrong, or no "
        "{kind}s were read at all: the column is not mapped, is named in the singular, or the text was cut "
        "in the middle of a placeholder.",
        'In LLaMA-Factory map the column in `dataset_info.json` by its plural name: `"columns": '
        '{{"messages": "messages", "{kind}s": "{kind}s"}}`, each row with a list (`"{kind}s": '
        '["a.file"]`). Count every row: `python -c "import json; [print(i) for i, r in '
        "enumerate(json.load(open('FILE'))) if json.dumps(r).count('<{kind}>') != len(r.get('{kind}s') or "
        '[])]"`. Delete the rows that it prints or mend them, raise `cutoff_len`, and clear the cache '
        "(`overwrite_cache: true`).",
    ),
    zh=Words(
        "数据的某一行中 {kind} 的数量与文本中 `<{kind}>` 占位符的数量不同",
        "每个文件按顺序对应文本中的一个占位符。要么个别行有误,要么根本没有读到任何 {kind}:该列没有映射、用"
        "了单数名称,或文本在占位符中间被截断。",
        '在 LLaMA-Factory 的 `dataset_info.json` 中用复数名称映射该列:`"columns": {{"messages": '
        '"messages", "{kind}s": "{kind}s"}}`,每行为列表(`"{kind}s": ["a.file"]`)。逐行统计:`python -c '
        "\"import json; [print(i) for i, r in enumerate(json.load(open('FILE'))) if "
        "json.dumps(r).count('<{kind}>') != len(r.get('{kind}s') or [])]\"`。删除或修正打印出的行,增大"
        " `cutoff_len`,并清除缓存(`overwrite_cache: true`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The kind stands in one of two places."""
    kind = hits.get("kind") or hits.get("kind_too") or "image"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind)
