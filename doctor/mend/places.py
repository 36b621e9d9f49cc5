"""From findings to edits of the files they point at; what stands on the command line is the user's to retype."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from doctor.base.evidence import Observed, Place
from doctor.catalogue.finding import Finding
from doctor.catalogue.plan import EditFile, Refused
from doctor.mend.edits import Editor

Change = Callable[[Editor, Observed, Finding], None]


def edited(findings: Iterable[Finding], facts: Iterable[object], change: Change) -> tuple[EditFile, ...]:
    """One step a file: `change` is called for every finding that points to a setting of `facts` in one.

    Raises:
        Refused: no fact has a setting where a finding points, or a file does not hold any more what was found there.

    """
    settings = _by_place(facts)
    by_file: defaultdict[str, dict[Place, Finding]] = defaultdict(dict)
    for finding in findings:
        where = finding.where
        if where.file is not None and where.line is not None and where.column is not None:
            # two findings at one place are mended once
            by_file[where.file][Place(where.file, where.line, where.column)] = finding
    steps = []
    for path, places in by_file.items():
        editor = Editor(path)
        for place, finding in places.items():
            change(editor, _setting(settings.get(place, []), place, finding), finding)
        steps.append(editor.step())
    return tuple(steps)


def _setting(there: list[Observed], place: Place, finding: Finding) -> Observed:
    """The setting at a place; of several (a dictionary that is written somewhere else) the one that is meant."""
    named = finding.values.get("name")
    distinct = {(each.name.rpartition(".")[2], repr(each.value), each.text): each for each in there}
    meant = [each for each in distinct.values() if each.name == named] or list(distinct.values())
    if len(meant) != 1:
        msg = f"the text at `{place.file}:{place.line}` is too ambiguous to change"
        raise Refused(msg)
    return meant[0]


def _by_place(facts: Iterable[object]) -> Mapping[Place, list[Observed]]:
    found: defaultdict[Place, list[Observed]] = defaultdict(list)
    for each in _settings(facts):
        if each.place is not None:
            found[each.place].append(each)
    return found


def _settings(facts: Iterable[object]) -> Iterator[Observed]:
    """Every setting that a fact holds: as a field, or in a mapping."""
    for fact in facts:
        if fact is None or not is_dataclass(fact):
            continue
        for field in fields(fact):
            value = getattr(fact, field.name)
            inner = value.values() if isinstance(value, Mapping) else (value,)
            yield from (each for each in inner if isinstance(each, Observed))
