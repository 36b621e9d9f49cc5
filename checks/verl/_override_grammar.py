"""What Hydra's grammar of overrides refuses, told without Hydra.

Source: OverrideLexer.g4 and OverrideParser.g4 of https://github.com/facebookresearch/hydra (1.3), and
https://hydra.cc/docs/advanced/override_grammar/basic/. Only what is certainly refused is told; the test asks Hydra's
own parser about every word that is refused here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.base.patterns import later

#: kinds of refusals
EMPTY, BLANK, COMMENT, NO_VALUE, SEVERAL, LETTER, OPEN, BEHIND = (
    "empty", "blank", "comment", "no value", "several", "letter", "open", "behind",
)  # fmt: skip


class OverrideRefusal(NamedTuple):
    """Why an override cannot be read; `at`: the letter or the piece that Hydra stumbles over."""

    kind: str
    at: str = ""


_SIGN = later(r"(?:~|\+{1,2})?")
_KEY = later(r"[\w$@/.:-]*", re.ASCII)
_ESCAPED = later(r"\\[\\()\[\]{}:=, \t]")
_QUOTED = later(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_REFERENCE = later(r"\$\{[^{}]+\}")
#: a letter that may stand outside of quotes; the last two stand for a quoted text and for a reference
_LETTER = later(r"[\w/\\+.$%*@?|:=,()\[\]{} \t\0\1-]", re.ASCII)
_PAIRS = (("[", "]"), ("{", "}"))


def refused(word: str) -> OverrideRefusal | None:
    """Why Hydra cannot read a word of its command line; None where it can, or where it is not certain."""
    if not word.strip():
        return OverrideRefusal(BLANK if word else EMPTY)
    if word.startswith("#"):
        return OverrideRefusal(COMMENT, word)
    key, equals, value = word.partition("=")
    name = key[_SIGN.match(key).end() :]  # type: ignore[union-attr]
    rest = name[_KEY.match(name).end() :]  # type: ignore[union-attr]
    if rest:
        return OverrideRefusal(OPEN if rest[0] in "[]{}" and not equals else LETTER, rest[0])
    if not equals:
        return None if key.startswith("~") else OverrideRefusal(NO_VALUE, word)
    return _refused_value(value.lstrip(" \t"))


def _refused_value(value: str) -> OverrideRefusal | None:
    plain = _REFERENCE.sub("\1", _QUOTED.sub("\0", _ESCAPED.sub("_", value)))
    if "${" in plain:
        return None  # a reference in a reference
    for letter in plain:
        if not _LETTER.match(letter):
            return OverrideRefusal(OPEN if letter in "\"'" else LETTER, letter)
    for opening, closing in _PAIRS:
        if plain.count(opening) != plain.count(closing):
            return OverrideRefusal(OPEN, opening if plain.count(opening) > plain.count(closing) else closing)
    if plain[:1] in {"[", "{"}:
        return OverrideRefusal(BEHIND, plain[-1]) if plain[-1] not in "]}" and "," not in _outside(plain) else None
    if "(" in plain or ")" in plain:
        return OverrideRefusal(LETTER, plain[0]) if plain[0] in "()" else None
    return _refused_text(plain)


def _refused_text(plain: str) -> OverrideRefusal | None:
    """A value that is neither list nor group nor function."""
    if "," in plain:
        return OverrideRefusal(SEVERAL)
    for letter in plain:
        if letter in "=[]{}":
            return OverrideRefusal(LETTER, letter)
    if "\0" in plain and plain != "\0":
        return OverrideRefusal(LETTER, '"')
    return None


def _outside(plain: str) -> str:
    """What stands outside of all brackets."""
    depth, kept = 0, []
    for letter in plain:
        depth += letter in "[{"
        if not depth:
            kept.append(letter)
        depth -= letter in "]}"
    return "".join(kept)
