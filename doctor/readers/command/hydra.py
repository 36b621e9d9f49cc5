"""Values of Hydra's command line overrides.

https://hydra.cc/docs/advanced/override_grammar/basic/: numbers, truth values and null are recognised, quotes make text,
`[a,b]` and `{a:b}` nest, everything else is text. `${...}` refers to something else and is not resolved.
"""

from __future__ import annotations

import re
from typing import Any

from doctor.base.evidence import Observed
from doctor.readers.command.argv import is_float, is_int, secured

_SPECIAL = {"inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_DEEPEST = 20


def hydra_setting(name: str, text: str) -> Observed:
    """Setting of an override `name=text`; not known where it refers to something or is a sweep."""
    known = "${" not in text and not re.search(r"(\A|[\s=])\$[A-Za-z_{(]", text)
    return secured(Observed.written(name, hydra_value(text), known, text))


def hydra_value(text: str, depth: int = 0) -> Any:
    """Value of the text behind `=`."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("\\" + text[0], text[0])
    if depth < _DEEPEST and text[:1] == "[" and text[-1:] == "]":
        return [hydra_value(each, depth + 1) for each in _items(text[1:-1])]
    if depth < _DEEPEST and text[:1] == "{" and text[-1:] == "}":
        pairs = (each.partition(":") for each in _items(text[1:-1]))
        return {key.strip().strip("'\""): hydra_value(value, depth + 1) for key, _, value in pairs}
    lowered = text.lower()
    if lowered in {"true", "false"}:
        return lowered == "true"
    if lowered in {"null", ""}:
        return None if lowered else ""
    digits = text.replace("_", "") if text[:1].isdigit() else text
    if is_int(digits):
        return int(digits)
    if is_float(digits):
        return float(digits)
    return _SPECIAL.get(lowered, text)


def _items(text: str) -> list[str]:
    """Parts between commas that stand in no brackets and no quotes."""
    items, depth, quote, start = [], 0, "", 0
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth == 0:
            items.append(text[start:index])
            start = index + 1
    items.append(text[start:])
    return [each for each in items if each.strip()]
