"""Which name a library refuses, and which names it lists instead, read from its own sentence.

Authors of registries write alike: what kind of name it is, the name that was given, the names that exist.
"""

from __future__ import annotations

import re
from typing import Optional

from doctor.base.patterns import later
from doctor.base.record import record

_SHOWN = 8  # names that a sentence can carry
_NAME = r"[\w./+:-]{1,60}"
_QUOTED = rf"(?P<quote>['\"`])(?P<value>{_NAME})(?P=quote)"
_REFUSING = r"(?i:un(?:known|kown|supported|registered|recognized|recognised|expected|implemented)|invalid)"
#: kinds of names that a user chooses; an internal registry has other ones
_KINDS = (
    r"\b(?i:mode|method|backend|estimator|algorithm|strategy|loss|trainer|optimizer|scheduler|policy|format|manager|engine"
    r"|platform|executor|quantization|template|parser|selector|operator|workflow|layout|penalty|aggregation|monitor|loop"
    r"|(?:model|storage|trainer|workflow|buffer|dataset) type|architecture)s?\b"
)
_CHOSEN = later(_KINDS)
_INTERNAL = later(r"(?i:tensor|\bkey\b|param|dtype|\bdict\b|shape|shard|message|version|\bwith\b)")
_NO_NAMES = frozenset(
    {"", "None", "type", "value", "is", "are", "was", "of", "for", "the", "a", "an", "file", "scheme"}
)
_KIND = r"(?P<kind>[A-Za-z_][\w `-]{0,50}?)"
#: the value that is refused and what it is: in quotes, behind a colon, behind its kind, in front of "not supported"
_VALUES = (
    later(_REFUSING + rf"\s{_KIND}(?: simply)?(?:\s?[:=]|\s?,? got:?| of| for| found)?\s?{_QUOTED}"),
    later(_REFUSING + rf"\s{_KIND}(?: simply)?\s?[:=]\s?(?P<value>{_NAME})(?:[.,;]?\s|[.,]?$)"),
    later(_REFUSING + rf"\s(?P<kind>[A-Za-z_][\w `-]{{0,40}}?{_KINDS}) (?P<value>{_NAME})(?:[.,;]\s|[.,]?$)"),
    later(
        rf"^(?:The )?(?P<kind>[A-Za-z][\w -]{{1,40}}?)?\s?{_QUOTED}"
        r" (?:is |are )?not (?:registered|supported|recognized|recognised|valid|found|available|allowed)"
    ),
    later(
        rf"^(?:The )?(?P<kind>[\w -]{{0,40}}?{_KINDS}(?: type| name)?) (?P<value>{_NAME})"
        r" (?:is |are )?not (?:registered|supported|recognized|recognised|valid)"
    ),
    later(
        r"(?:must be|should be|[Ee]xpect(?:ed)?|supports?|to be)[^\n]{1,200}[ (](?:but )?(?i:got|gets|found):?\s?"
        rf"['\"`]?(?P<value>{_NAME})"
    ),
)
_HERALD = (
    r"(?<![A-Za-z])(?i:registered|available|supported|valid|allowed|known|existing|accepted|possible|options|choices"
    r"|one of|choose from|cho[os]se between|chose from|only supports?|(?:must|should|to) be in)"
)
_FURTHER = r"(?:,?\s?(?:or |and )?['\"`][\w./+:-]{1,60}['\"`])"
#: the names that exist: in brackets, quoted in a row, or bare at the end
_LISTS = (
    later(
        _HERALD + r"[\w `'()-]{0,40}?(?:\sare|\sis)?\s?[:=]?\s{0,2}(?:dict_keys\(|frozenset\()?"
        r"(?P<list>(?<!\w)[\[({][^\]\n)}]{1,400}[\])}]|['\"`][\w./+:-]{1,60}['\"`]" + _FURTHER + r"{0,20})"
    ),
    later(r"(?:must be|should be|to be|[Cc]hoose|either) (?P<list>['\"`][\w./+:-]{1,60}['\"`]" + _FURTHER + r"{1,20})"),
    later(
        _HERALD + r"[\w ]{0,30}?(?:\sare|\sis|:|=|supports?)\s?"
        r"(?P<list>[\w/+-]{1,40}(?:, (?:or |and )?[\w/+-]{1,40}){1,20})(?:\.|,? but|$)"
    ),
)


@record
class Choice:
    """A refused name, what kind of name it is (may be empty), and the names that are accepted (may be none)."""

    value: str
    kind: str
    allowed: tuple[str, ...]


def read(text: str) -> Optional[Choice]:
    """Understand a message; None unless it lists names, or says of a name that users choose that it is unknown."""
    for pattern in _VALUES:
        hit = pattern.search(text)
        kind = "" if hit is None else (hit.groupdict().get("kind") or "").strip(" `'")
        value = "" if hit is None else hit["value"].rstrip(".:")
        if value in _NO_NAMES or _INTERNAL.search(kind):
            continue
        variable = re.search(r"\bfor ([A-Z][A-Z0-9_]{3,60})\b", text)
        if variable and kind in ("", "value"):
            kind = variable[1]
        names = _listed(text, value)
        if names or _CHOSEN.search(kind):
            return Choice(value, kind, names[:_SHOWN])
    return None


def _listed(text: str, value: str) -> tuple[str, ...]:
    """The names that are accepted, at least two or in brackets; a list that holds the value itself is another one."""
    for pattern in _LISTS:
        for hit in pattern.finditer(text):
            names = re.findall(r"[\w./+:-]{1,60}", re.sub(r"['\"`]", " ", hit["list"]))
            names = [name for name in dict.fromkeys(names) if name not in ("or", "and")]
            named = any(re.search("[A-Za-z]", name) for name in names)  # bounds of numbers are no names
            if named and value not in names and (len(names) > 1 or hit["list"][0] in "[{("):
                return tuple(names)
    return ()
