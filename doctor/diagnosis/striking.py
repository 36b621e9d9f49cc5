"""Takes out of a remedy's words what is so already, so that nothing is advised and taken back in the next sentence."""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.base.patterns import later

#: what stands behind a name in brackets belongs to it, and what joins it to the next
_ASIDE = r"(?: ?[(\uff08][^()\uff08\uff09]{0,80}[)\uff09])?"
_JOINT = r"(?: together with | with |(?:, then )|, and |, or |, | and | or | ?\u548c ?| ?\u6216 ?|\u3001|\uff0c)"
#: clauses of a text: what a semicolon, the end of a sentence or of a paragraph ends; names in backticks stay whole
_CLAUSE = later(r"(?:`[^`]*`|[^`;.\u3002\uff1b\n]|[.](?!\s|$)|\n(?!\n))+(?:[;.\u3002\uff1b]+|\n\n|$)?\s*")
#: alternatives of a clause, and steps that follow each other
_PART = later(r"(?:`[^`]*`|\([^()]*\)|(?!, (?:or|and|then) |[,\uff0c]\s?(?:\u6216|\u7136\u540e|\u5e76))[^`])+"
                   r"(?:, (?:or|and|then) |[,\uff0c]\s?(?:\u6216\u8005?|\u7136\u540e|\u5e76))?")  # fmt: skip
_JOINED = later(r"(?:, (?:or|and|then) |[,\uff0c]\s?(?:\u6216\u8005?|\u7136\u540e|\u5e76))$")
_END = later(r"[;.\u3002\uff1b]*\s*$")
_VERB = r"(?:[Ss]et|[Uu]se|[Tt]ry|[Pp]ass|[Ee]xport|[Rr]aise) "
#: in brackets alone; before another name or noun; behind one; before another verb
_FORMS = (
    rf" ?[(\uff08](?:or |and |\u6216 ?)?(?:{_VERB})?NAME[)\uff09]",
    rf"NAME{_ASIDE}{_JOINT}(?=`|the |an? |your |[\u4e00-\u9fff])",
    rf"{_JOINT}NAME{_ASIDE}(?=[\s;.)\u3002\uff1b\uff0c]|,(?! which)|$)",
    rf"{_VERB}NAME{_ASIDE}(?:,? and |,? or |, )(?=[a-z])",
)
_SPAN = later(r"`([^`]+)`")


def without(text: str, is_so: Callable[[str], bool], word: str) -> str:
    """The text without the advice of one word; as it is where that cannot be cut out by its punctuation.

    Args:
        text: a remedy as it is printed.
        is_so: whether a name in backticks is so already.
        word: the name, without its backticks.

    """
    clauses = [match[0] for match in _CLAUSE.finditer(text)]
    if "".join(clauses) != text:
        return text
    kept = [_clause(each, is_so, word) if f"`{word}`" in each else each for each in clauses]
    if kept == clauses:
        return text
    joined = "".join(_begun(each, kept[:place]) for place, each in enumerate(kept)).strip()
    return re.sub(r"[;\uff1b]$", lambda end: "." if end[0] == ";" else "\u3002", joined)


def _clause(clause: str, is_so: Callable[[str], bool], word: str) -> str:
    """A clause that advises nothing else goes whole, of one that does only the name."""
    if all(is_so(each) for each in _SPAN.findall(clause)) and len(list(_PART.finditer(clause))) == 1:
        return ""
    name = re.escape(f"`{word}`")
    for form in _FORMS:
        shorter, count = re.subn(form.replace("NAME", name), "", clause, count=1)
        if count:
            return shorter
    return _without_part(clause, word)


def _without_part(clause: str, word: str) -> str:
    """A clause without the alternative that advises a name; nothing where it is the only one."""
    end = _END.search(clause)
    body, tail = (clause[: end.start()], end[0]) if end else (clause, "")
    parts = [match[0] for match in _PART.finditer(body)]
    kept = [each for each in parts if f"`{word}`" not in re.sub(r"\([^()]*\)", "", each)]
    if "".join(parts) != body or kept == parts:
        return clause
    return _JOINED.sub("", "".join(kept)) + tail if kept else ""


def _begun(clause: str, before: list[str]) -> str:
    """A clause that now begins a sentence, with a capital."""
    so_far = "".join(before).rstrip()
    begins = not so_far or so_far[-1] in ".\u3002"
    return clause[:1].upper() + clause[1:] if begins and clause[:1].islower() else clause
