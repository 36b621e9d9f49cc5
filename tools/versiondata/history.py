"""Turning facts per release into the compact shapes that ship: run-length encoded columns, histories of arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from versiondata.dataclass_fields import Argument, replacement_in

Column = list[list[Any]]
_ABSENT = object()


def column(values: Iterable[tuple[str, Any]]) -> Column:
    """``[[since, value], ...]``: an entry where the value changes, in the order given; a leading None has none."""
    entries: Column = []
    last: Any = None
    for version, value in values:
        if value != last:
            entries.append([version, value])
            last = value
    return entries


def argument_histories(
    per_version: Mapping[str, Mapping[str, Argument] | None],
    notes: Mapping[str, Mapping[str, str]],
    inherited: frozenset[str] = frozenset(),
) -> dict[str, dict[str, Any]]:
    """History of every argument of one class; ``per_version`` is in order, None where a release has no such class.

    ``inherited`` are the names that a base class outside the package declares too; ``notes`` come from the hand-kept
    file.
    """
    order = list(per_version)
    names = sorted({name for arguments in per_version.values() if arguments for name in arguments})
    histories = {name: _history(name, order, per_version, notes.get(name, {}), name in inherited) for name in names}
    for each in histories.values():
        if (
            each.get("replacement") not in inherited.union(names)
            and "replacement" in each
            and not each.pop("by_hand", False)
        ):
            del each["replacement"]  # the note names a class, a variable or an expression: no argument to rename to
        each.pop("by_hand", None)
    return histories


def _history(
    name: str,
    order: Sequence[str],
    per_version: Mapping[str, Mapping[str, Argument] | None],
    note: Mapping[str, str],
    inherited: bool,
) -> dict[str, Any]:
    present = [(version, (per_version[version] or {}).get(name)) for version in order]
    spans = spans_of([version for version, argument in present if argument], order)
    defaults = _defaults(present)
    content: dict[str, Any] = {"spans": spans, "defaults": defaults} if defaults else {"spans": spans}
    if inherited:
        content["inherited"] = True
    else:
        gone = _removed_in(spans, order, per_version)
        if gone:
            content["removed_in"] = gone
    warned = [(version, argument.warning) for version, argument in present if argument and argument.warning]
    if warned and warned[-1][0] == _last_present(present):
        content["deprecated_in"] = _start_of_last_run(warned, present)
        instead = replacement_in(warned[-1][1] or "")
        if instead and instead != name:
            content["replacement"] = instead
    content.update(note)
    if "replacement" in note:
        content["by_hand"] = True
    return content


def spans_of(present: Sequence[str], order: Sequence[str]) -> list[list[str | None]]:
    """Runs of neighbouring releases as ``[first, last]``; ``last`` is None for one that reaches the newest release."""
    places = {version: index for index, version in enumerate(order)}
    runs: list[list[int]] = []
    for index in (places[version] for version in present):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return [[order[first], None if last == len(order) - 1 else order[last]] for first, last in runs]


def _defaults(present: Sequence[tuple[str, Argument | None]]) -> Column:
    entries: Column = []
    last: Any = _ABSENT
    for version, argument in present:
        if argument is not None and argument.default != last:
            entries.append([version, argument.default])
            last = argument.default
    return [] if all(default is None for _, default in entries) else entries


def _removed_in(
    spans: Sequence[Sequence[str | None]],
    order: Sequence[str],
    per_version: Mapping[str, Mapping[str, Argument] | None],
) -> str | None:
    """The release after the last one that has the argument, if that release still has the class."""
    last = spans[-1][1]
    if last is None:
        return None
    following = order[order.index(last) + 1]
    return following if per_version[following] is not None else None


def _last_present(present: Sequence[tuple[str, Argument | None]]) -> str:
    return [version for version, argument in present if argument][-1]


def _start_of_last_run(warned: Sequence[tuple[str, str | None]], present: Sequence[tuple[str, Argument | None]]) -> str:
    """First release of the unbroken run of releases that warn, ending at the last one that has the argument."""
    warning = {version for version, _ in warned}
    start = warned[-1][0]
    for version in reversed([version for version, argument in present if argument]):
        if version not in warning:
            break
        start = version
    return start
