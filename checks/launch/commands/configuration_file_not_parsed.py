"""Judges configuration-file-not-parsed (LCH049), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


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
