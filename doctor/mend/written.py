"""How a value is written into a file of YAML, JSON or Python, quoted as the one was that stood there."""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections import Counter
from typing import Any

#: a YAML word that needs no quotes, if it is none of these; `.0` is a number
_PLAIN = re.compile(r"(?!\.[0-9_])[A-Za-z_./][A-Za-z0-9_./-]*")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "~"])


def python_literal(value: Any, quote: str) -> str:
    """A value as Python source, its strings between `quote` where that needs no escaping."""
    if isinstance(value, (list, tuple)):
        inside = ", ".join(python_literal(each, quote) for each in value)
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    written = repr(value)
    if isinstance(value, str) and quote not in value and not written.startswith(quote):
        return quote + written[1:-1].replace(f"\\{written[0]}", written[0]) + quote
    return written


def usual_quote(source: str) -> str | None:
    """The quotation mark that most strings of a piece of Python begin with, None where it has no string."""
    marks = [each for each in "'\"" if each in source]
    if len(marks) == 1 and "#" not in source and marks[0] * 3 not in source and source.count(marks[0]) % 2 == 0:
        return marks[0]  # there is no other one, so nothing needs to be taken apart
    counts: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.STRING and '"""' not in token.string and "'''" not in token.string:
                counts[token.string[-1]] += 1
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass  # a piece of an expression ends before its file does: what was counted counts
    return counts.most_common(1)[0][0] if counts else None


def yaml_scalar(value: Any, node: Any = None) -> str:
    """A value as YAML 1.1 reads it back, quoted as the old one was."""
    if isinstance(value, float):
        return _float(value)
    if not isinstance(value, str):
        return json.dumps(value)
    style = getattr(node, "style", None)
    if style == "'":
        return "'" + value.replace("'", "''") + "'"
    if style == '"' or not _PLAIN.fullmatch(value) or value.lower() in {*_WORDS, ".nan", ".inf"}:
        return '"' + "".join(map(_yaml_character, value)) + '"'
    return value


def _float(value: float) -> str:
    """With a point, for YAML 1.1 reads `1e-05` as text."""
    mantissa, exponent, power = json.dumps(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{exponent}{power}"


def _yaml_character(character: str) -> str:
    """A character between double quotes; YAML takes no unprintable one as it is."""
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def json_text(value: Any) -> str:
    """A value as JSON, its letters as they are."""
    return json.dumps(value, ensure_ascii=False)
