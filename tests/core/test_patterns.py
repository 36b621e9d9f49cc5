"""Regular expressions that are compiled at their first use are those that were written."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import doctor.logs
import doctor.readers.pasted
from doctor.base.patterns import Later, later


def _all() -> list[tuple[str, Later]]:
    found = []
    for package in (doctor.logs, doctor.readers.pasted):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            members = vars(importlib.import_module(each.name)).items()
            found += [(f"{each.name}.{name}", one) for name, one in members if isinstance(one, Later)]
    return found


def test_every_one_compiles() -> None:
    patterns = _all()
    assert len(patterns) > 50
    for name, each in patterns:
        assert re.compile(each.pattern, each.flags & ~re.UNICODE).groups == each.groups, name


@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_it_finds_what_the_compiled_one_finds(flags: int) -> None:
    text, words = "A1 b22\nC333", r"(?P<letter>[a-c])(\d+)"
    mine, own = later(words, flags), re.compile(words, flags)
    assert [each.span() for each in mine.finditer(text)] == [each.span() for each in own.finditer(text)]
    for name in ("findall", "split"):
        assert getattr(later(words, flags), name)(text) == getattr(own, name)(text)
    for name in ("match", "search", "fullmatch"):
        assert str(getattr(later(words, flags), name)("b22")) == str(getattr(own, name)("b22"))
    assert (mine.sub(r"\2", text), mine.groupindex) == (own.sub(r"\2", text), own.groupindex)
    assert later(rb"\d").search(b"a1").span() == (1, 2)


def test_what_no_expression_has_is_not_there() -> None:
    assert not hasattr(later("a"), "scanner_of_dreams")
    with pytest.raises(re.error):
        later("(").search("")
