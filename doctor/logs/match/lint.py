"""Finds fault with the patterns of signatures: what the literal search cannot speed up, and what can blow up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from doctor.catalogue.signature import Signature
from doctor.logs.match.literals import SHORTEST, literals_of
from doctor.logs.match.pattern_tree import ATOMIC, REPEATS, ZERO_WIDTH, Item, parse
from doctor.logs.match.pattern_tree import constants as _c

#: places for the gaps of a pattern (`.{0,80}`) that the worst line makes `re` try in one window: a third of a second
MOST_WAYS = 10_000_000
_WINDOW = 1 << 14  # characters that a pattern is searched in at once, see `doctor.logs.match.matcher`
_WIDE = 16  # repetitions up to this many are no gap
_MANY = 20  # characters of the sample that a class must hold to stand for nearly anything: letters, no mere digits
_SAMPLE = "".join(chr(code) for code in range(1, 128)) + "é中"


def lint(signature: Signature) -> list[str]:
    """What is wrong with a signature's patterns, in words; empty when nothing is."""
    try:
        re.compile(signature.pattern)
        re.compile(signature.frame)
        tree, flags = parse(signature.pattern)
    except re.error as error:
        return [f"`{error.pattern!r}` is no regular expression: {error}"]
    faults = [*_literal_faults(signature, flags), *_item_faults(tree), *_end_faults(tree), *_adjacent_faults(tree)]
    ways = _starts(tree) * _ways(tree)
    if ways > MOST_WAYS:
        faults.append(f"its gaps can be placed in {ways:.0e} ways: bound them more tightly, or split the pattern")
    return list(dict.fromkeys(faults))


def per_megabyte(signature: Signature, text: bytes) -> float:
    """How often a signature's literals stand in text; more than ten times a megabyte in healthy logs is too often."""
    count = sum(text.count(each) for each in literals_of(signature))
    return count / max(len(text) / 1e6, 0.1)


def _literal_faults(signature: Signature, flags: int) -> Iterator[str]:
    if "\n" in signature.pattern or "\r" in signature.pattern:
        yield "holds a line end, but is searched in one line"
    for each in signature.keywords:
        if len(each.encode()) < SHORTEST or "\n" in each or "\r" in each:
            yield f"keyword {each!r} is shorter than {SHORTEST} bytes or holds a line end"
    if signature.keywords:
        return
    if flags & re.IGNORECASE:
        yield "is blind to case: name the spellings that occur as `keywords`"
    elif not literals_of(signature):
        yield f"has no literal of {SHORTEST} bytes that every match holds: name `keywords`, or write it more exactly"


def _bodies(kind: Any, value: Any) -> list[list[Item]]:
    """The sequences inside an item."""
    if kind is _c.SUBPATTERN:
        return [list(value[3])]
    if kind is _c.BRANCH:
        return [list(each) for each in value[1]]
    if kind in REPEATS:
        return [list(value[2])]
    if kind is ATOMIC:
        return [list(value)]
    if kind in (_c.ASSERT, _c.ASSERT_NOT):
        return [list(value[1])]
    return []


def _all_items(items: Iterable[Item]) -> Iterator[Item]:
    for kind, value in items:
        yield kind, value
        for body in _bodies(kind, value):
            yield from _all_items(body)


def _is_unbounded(kind: Any, value: Any) -> bool:
    return kind in REPEATS and value[1] is _c.MAXREPEAT


def _eats_line_end(kind: Any, value: Any) -> bool:
    """Whether a negated class leaves line feeds in."""
    if kind is _c.NOT_LITERAL:
        return bool(value != ord("\n"))
    return kind is _c.IN and value[0][0] is _c.NEGATE and _in_class("\n", value)


def _is_gap(items: list[Item]) -> bool:
    """Whether a repeated part is one item that stands for nearly anything."""
    if len(items) != 1:
        return False
    kind, value = items[0]
    return kind in (_c.ANY, _c.NOT_LITERAL) or (kind is _c.IN and value[0][0] is _c.NEGATE)


def _is_wide(items: list[Item]) -> bool:
    """The same, and classes of letters or of what is no blank."""
    return _is_gap(items) or (len(items) == 1 and items[0][0] is _c.IN and len(_characters(items)) >= _MANY)


def _item_faults(tree: list[Item]) -> Iterator[str]:
    for kind, value in _all_items(tree):
        if kind is _c.LITERAL and value in (10, 13):
            yield "holds a line end, but is searched in one line"
        if kind not in REPEATS:
            continue
        body = list(value[2])
        if len(body) == 1 and _eats_line_end(*body[0]):
            yield "a negated class can eat the line end: write `[^x\\n]`"
        if _is_unbounded(kind, value):
            if _is_gap(body):
                yield "a gap without bound: write `.{0,200}` or `[^x\\n]{1,200}`"
            if any(_is_unbounded(*each) for each in _all_items(body)):
                yield "a repetition without bound inside another: it can blow up"


def _end_faults(tree: list[Item]) -> Iterator[str]:
    for end in (0, -1):
        items = [each for each in tree if each[0] is not _c.AT]
        while items and items[end][0] is _c.SUBPATTERN:
            items = [each for each in items[end][1][3] if each[0] is not _c.AT]
        if not items:
            continue
        kind, value = items[end]
        if kind in REPEATS and value[1] is _c.MAXREPEAT and _is_gap(list(value[2])):
            yield "`.*` at an end: it takes the whole line and tells nothing"


def _characters(items: list[Item]) -> set[str]:
    """Which sample characters a part without structure can be; empty for anything else."""
    if len(items) != 1:
        return set()
    kind, value = items[0]
    if kind is _c.SUBPATTERN:
        return _characters(list(value[3]))
    tests: dict[Any, Callable[[str], bool]] = {
        _c.ANY: lambda _: True, _c.LITERAL: lambda each: ord(each) == value,
        _c.NOT_LITERAL: lambda each: ord(each) != value, _c.IN: lambda each: _in_class(each, value),
    }  # fmt: skip
    return {each for each in _SAMPLE if tests[kind](each)} if kind in tests else set()


_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}


def _in_class(character: str, members: list[Item]) -> bool:
    inside = False
    for kind, value in members:
        if kind is _c.LITERAL:
            inside |= ord(character) == value
        elif kind is _c.RANGE:
            inside |= value[0] <= ord(character) <= value[1]
        elif kind is _c.CATEGORY:
            name = str(value).rpartition("_")[2]
            inside |= bool(re.match(_CATEGORIES[name], character)) != ("_NOT_" in str(value))
    return inside != (members[0][0] is _c.NEGATE)


def _adjacent_faults(tree: list[Item]) -> Iterator[str]:
    """Two repetitions without bound, side by side, that can share characters: quadratic, or worse inside a third."""
    for body in (tree, *(body for item in _all_items(tree) for body in _bodies(*item))):
        before: set[str] = set()
        for kind, value in body:
            if _is_unbounded(kind, value):
                characters = _characters(list(value[2]))
                if before & characters:
                    yield "two repetitions side by side can take the same characters: it can blow up"
                before = before | characters if value[0] == 0 else characters
            elif kind not in ZERO_WIDTH and not (kind in REPEATS and value[0] == 0):
                before = set()


def _flat(items: Iterable[Item]) -> list[Item]:
    """A sequence with its groups opened and what has no width left out."""
    out: list[Item] = []
    for kind, value in items:
        if kind is _c.SUBPATTERN:
            out += _flat(value[3])
        elif kind is ATOMIC:
            out += _flat(value)
        elif kind not in ZERO_WIDTH:
            out.append((kind, value))
    return out


def _literal_run(items: list[Item]) -> int:
    """How many characters at the start of a flat sequence are one certain character each."""
    run = 0
    for kind, value in items:
        if kind is _c.BRANCH:
            return run + min(_literal_run(_flat(each)) for each in value[1])
        if kind is not _c.LITERAL:
            break
        run += 1
    return run


def _starts(tree: list[Item]) -> float:
    """How often in one window a search can get as far as the first gap: what stands before it must fit there."""
    if tree and tree[0] == (_c.AT, _c.AT_BEGINNING):
        return 1
    flat, longest = _flat(tree), 0
    for number, (kind, value) in enumerate(flat):
        if kind in REPEATS and _is_wide(list(value[2])):
            break
        longest = max(longest, _literal_run(flat[number:]))
    return _WINDOW / max(longest, 1)


def _ways(items: Iterable[Item], following: Iterable[Item] = ()) -> float:
    """How many ways there are to place the gaps of a sequence; `following`: what comes behind it in the pattern.

    A gap can end where what follows it stands, and that takes its own length each time.
    """
    ways = 1.0
    sequence = _flat(items)
    for number, (kind, value) in enumerate(sequence):
        rest = [*sequence[number + 1 :], *following]
        if kind in REPEATS:
            body = list(value[2])
            width = value[1] - value[0] if value[1] is not _c.MAXREPEAT else 1
            if not _is_wide(body):
                ways *= _ways(body, rest)
            elif width > _WIDE and rest and not _ends_at(body, rest):
                ways *= max(width / max(_literal_run(rest), 1), 1)
        elif bodies := _bodies(kind, value):
            ways *= max(_ways(body, rest) for body in bodies)
    return ways


def _ends_at(body: list[Item], rest: list[Item]) -> bool:
    """Whether a gap has one place to end, for it cannot hold the character that follows."""
    if not rest or rest[0][0] is not _c.LITERAL:
        return False
    return chr(rest[0][1]) not in _characters(body) and chr(rest[0][1]) in _SAMPLE
