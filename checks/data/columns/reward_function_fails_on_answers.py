"""Judges reward-function-fails-on-answers (DAT9584), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, Where, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
RAISES = TOML["raises"]
LONG = TOML["long"]
SHAPE = TOML["shape"]

_KINDS = {
    "empty": ("an empty completion", "空的生成"), "refusal": ("a refusal", "拒绝回答的生成"),
    "repeated": ("one word over and over", "不断重复一个词的生成"), "prompt": ("the prompt again", "重复提示的生成"),
    "long": ("a long text full of brackets", "满是括号的长文本"),
    "format": ("tags without content", "只有标签没有内容的生成"),
}  # fmt: skip
_RIGHT, _WRONG = ("a right answer", "正确答案"), ("a wrong answer", "错误答案")
#: the most telling first: what a model writes soonest
_ORDER = ("empty", "right", "wrong", "refusal", "prompt", "repeated", "format", "long")


def of_rehearsal(function: Mapping[str, Any]) -> Iterator[Finding]:
    """What one function did with completions of every kind: the first failure of each sort.

    Args:
        function: `function`, `place`, `usual` (seconds of an ordinary call), `limit` (seconds of a try), and `tries`:
            kind -> `values`, `error`, `frame`, `seconds`.

    """
    seen: set[str] = set()
    for kind in sorted(function["tries"], key=lambda each: _ORDER.index(each.partition(":")[0])):
        tried = function["tries"][kind]
        error = tried["error"]
        message = LONG if error == "too long" else SHAPE if error == "no list" else RAISES
        if not error or error == "not tried" or message.en.headline in seen:
            continue
        seen.add(message.en.headline)
        name, name_zh = _KINDS.get(kind) or (_RIGHT if kind.startswith("right") else _WRONG)
        file, _, line = (tried["frame"] or function["place"]).rpartition(":")
        yield found(
            PROBLEM, message, where=Where(file=file or None, line=int(line) if line.isdecimal() else None),
            evidence=(Observed.quoted(function["place"] or function["function"], f"{kind}: {error}"),),
            function=function["function"], kind=name, kind_zh=name_zh, error=error.partition(":")[0],
            seconds=f"{function['limit']:.0f}", usual=f"{function['usual']:.2g}",
        )  # fmt: skip
