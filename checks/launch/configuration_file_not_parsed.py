"""A configuration file that the run reads is no valid JSON, YAML or TOML.

## What it means
JSON knows no comments, no comma behind the last entry and only double quotes; YAML is decided by its indentation, and a
tab or a colon inside of a plain word breaks it.
## What it does to a run
The parser raises before anything is loaded, on every rank.
## What to do
Correct the place that the message names.
## How it is found
In a log: by the parser's exception; for JSON raised where DeepSpeed, Accelerate or Transformers read a configuration.
## References
https://www.json.org/json-en.html
https://yaml.org/spec/1.1/
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/deepspeed.py
https://github.com/deepspeedai/DeepSpeed/blob/v0.18.0/deepspeed/runtime/config.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH049", name="configuration-file-not-parsed", severity=ERROR, since="0.1")

_READS_JSON = (
    r"[\\/](?:accelerate[\\/]utils[\\/](?:deepspeed|dataclasses)|transformers[\\/]integrations[\\/]deepspeed"
    r"|deepspeed[\\/]runtime[\\/]config(?:_utils)?|accelerate[\\/]commands[\\/]config[\\/]\w+)\.py:"
)

SIGNATURES = (
    Signature(
        r"^(?:json\.decoder\.)?JSONDecodeError: (?P<json>[^\n]{4,80}?): line (?P<line>\d{1,7}) "
        r"column (?P<column>\d{1,7})",
        frame=_READS_JSON,
    ),
    Signature(
        r"^yaml\.(?:scanner\.Scanner|parser\.Parser|composer\.Composer|constructor\.Constructor)Error: "
        r"(?!could not determine a constructor for the tag 'tag:yaml\.org,2002:python)"
    ),
    Signature(r'^\s{1,4}in "(?P<file>[^"\n]{1,300})", line (?P<line>\d{1,7}), column (?P<column>\d{1,7})', kind="sign"),
    Signature(r"^tom(?:l|llib|li)\.(?:_parser\.)?(?:Toml|TOML)DecodeError: "),
)

LOG_MESSAGE = Message(
    en=Words(
        "a configuration file is no valid {kind}{place}",
        "The parser stopped there, or just behind the place that is wrong: {hint}.",
        "Open the file at that place. To try it alone: `{command}`.",
    ),
    zh=Words(
        "配置文件不是合法的 {kind}{place_zh}",
        "解析器停在该处,或刚好在出错位置之后:{hint_zh}。",
        "打开文件查看该处。单独检查:`{command}`。",
    ),
)

#: kind -> (what is mostly wrong, the same in Chinese, how to try the file)
_KINDS = {
    "JSON": (
        "a comma behind the last entry, a comment, single quotes, or an empty file",
        "最后一项之后的逗号、注释、单引号,或空文件",
        "python -m json.tool FILE",
    ),
    "YAML": (
        "indentation, a tab, a colon or a bracket in a value without quotes, or a key given twice",
        "缩进、制表符、未加引号的值中的冒号或括号,或重复的键",
        "python -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' FILE",
    ),
    "TOML": (
        "text without quotes, a key given twice, or a bracket that is not closed",
        "未加引号的文本、重复的键,或未闭合的括号",
        "python -c 'import sys, tomllib; tomllib.load(open(sys.argv[1], \"rb\"))' FILE",
    ),
}


def explain(hits: Hits) -> Finding | None:
    """Name the file and the place, as far as the parser tells them."""
    errors = [hit for hit in hits if hit.signature != 2]
    if not errors:
        return None
    kind = ("JSON", "YAML", "", "TOML")[errors[0].signature]
    hint, hint_zh, command = _KINDS[kind]
    if any((hit.groups.get("file") or "").startswith("<") for hit in hits):
        return None  # a text that the program itself parsed, such as an answer of the model
    file, line, column = hits.get("file"), hits.get("line"), hits.get("column")
    place = f": `{file}`" if file else ""
    place_zh = place
    if line:
        place += f", line {line}, column {column}" if file else f" in line {line}, column {column}"
        place_zh += f",第 {line} 行第 {column} 列"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if file or kind == "JSON" else LIKELY, kind=kind, hint=hint, hint_zh=hint_zh,
        place=place, place_zh=place_zh, command=command.replace("FILE", file or "FILE"),
    )  # fmt: skip
