"""Many small cases as a few tests: those of one area are tried one after another, and every one that fails is named.

A test of its own costs some milliseconds to collect, report and clean up, in every worker; twenty thousand cases that
take one millisecond each were most of a run. A case is still found by `-k ID`, and then tried alone. All cases of a
test share its fixtures, but for `tmp_path`: what changes them changes them back (`with monkeypatch.context()`).
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_LONGEST = 20_000  # characters that are told of all failures together


@dataclass(frozen=True)
class Cases:
    """Cases that one test tries: (id, values of the test's own arguments)."""

    name: str
    cases: tuple[tuple[str, tuple[Any, ...]], ...]

    def wanted(self, keyword: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """All of them, or those that the word of `-k` names where it names any."""
        named = [each for each in self.cases if keyword and keyword.lower() in each[0].lower()]
        return iter(named if re.fullmatch(r"[\w.-]+", keyword) and named else self.cases)


def for_each(
    names: str, cases: Iterable[tuple[str, Any]], *, group: Callable[[str], str] = lambda case: case[:3]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a test that takes one case so that it tries all of a group.

    Args:
        names: the test's arguments that a case fills, as for `pytest.mark.parametrize`.
        cases: (id, value) each; for several names a tuple of values.
        group: the group that an id belongs to: its area.

    """
    filled = [name.strip() for name in names.split(",")]
    groups: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    for case, value in cases:
        groups.setdefault(group(case), []).append((case, value if len(filled) > 1 else (value,)))
    grouped = [Cases(name, tuple(members)) for name, members in groups.items()]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tried(request: pytest.FixtureRequest, cases: Cases, **fixtures: Any) -> None:
            _try(test, filled, list(cases.wanted(request.config.getoption("keyword", ""))), fixtures)

        own = inspect.signature(test)
        kept = [each for name, each in own.parameters.items() if name not in {*filled, "request", "cases"}]
        kinds = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("request", "cases")]
        tried.__signature__ = own.replace(parameters=[*kinds, *kept])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("cases", grouped, ids=lambda each: each.name)(tried)

    return decorate


def _try(
    test: Callable[..., None], names: list[str], cases: list[tuple[str, tuple[Any, ...]]], fixtures: dict[str, Any]
) -> None:
    """Try all cases, each in a folder of its own; fail with every one that failed, skip where all were skipped."""
    failures, skips = [], []
    for number, (case, values) in enumerate(cases):
        arguments = dict(zip(names, values, strict=True)) | fixtures
        if isinstance(folder := fixtures.get("tmp_path"), Path):
            arguments["tmp_path"] = folder / str(number)
            arguments["tmp_path"].mkdir()
        try:
            test(**arguments)
        except pytest.skip.Exception as skip:
            skips.append(str(skip))
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - told with all others below
            told = pytest.ExceptionInfo.from_exception(error).getrepr(style="short")
            failures.append((case, f"{case}:\n{told}"))
    if failures:
        names = ", ".join(case for case, _ in failures)
        told = "\n\n".join(text for _, text in failures)[:_LONGEST]
        pytest.fail(f"{len(failures)} of {len(cases)} failed: {names}\n\n{told}", pytrace=False)
    if skips and len(skips) == len(cases):
        pytest.skip(skips[0])


def add_keywords(item: pytest.Item) -> None:
    """Let `-k ID` find the test that tries the case of this id."""
    cases = getattr(item, "callspec", None) and item.callspec.params.get("cases")  # type: ignore[attr-defined]
    if isinstance(cases, Cases):
        item.extra_keyword_matches.update(case for case, _ in cases.cases)
