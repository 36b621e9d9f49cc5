"""Whatever was not seen is not judged: a case of which a part is taken away, and its fact opened, finds nothing new.

A check that takes an absence, a default or a count for granted says something of the open fact that it does not say
of the whole one. Which parts are taken is drawn, the same for a case in every run; the slow test takes every part.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from doctor.base.evidence import Observed
from doctor.base.fact import Context, world_of
from doctor.base.opened import fact_name, opened, partly
from doctor.catalogue.outcome import Outcome
from doctor.diagnosis.runner import facts_needed, run_checks
from tests.collected import InTurn
from tests.each import for_each

from .cases import states
from .test_cases import ENTRIES, _all_cases

#: parts that are drawn of each case
DRAWN = 5
CASES = [each for each in _all_cases() if ENTRIES[each[1][0]].checks]


def parts_of(record: Any) -> Iterator[tuple[Any, ...]]:
    """Ways into a fact: (field,), (field, key of a mapping or place in a row), and on into the records there."""
    for name, value in vars(record).items():
        yield (name,)
        members = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, tuple) else ()
        for key, member in members:
            yield (name, key)
            if is_dataclass(member) and not hasattr(member, "known"):
                yield from ((name, key, *rest) for rest in parts_of(member))


def without(record: Any, part: tuple[Any, ...]) -> Any:
    """The record of which that part was not seen; what is around it is open as far as the part lies in it."""
    field, *rest = part
    value = vars(record)[field]
    if rest and len(rest) > 1:
        inner = without(value[rest[0]], tuple(rest[1:]))
        if isinstance(value, Mapping):
            return changed(record, field, {**value, rest[0]: inner})
        return changed(record, field, (*value[: rest[0]], inner, *value[rest[0] + 1 :]))
    seen = set(vars(record)) - {field}
    if rest and isinstance(value, tuple):
        left = value[: rest[0]] + value[rest[0] + 1 :]
        return changed(record, field, partly(left, fact_name(type(record).__name__), field))
    if isinstance(value, Mapping):
        left = {key: each for key, each in value.items() if rest and key != rest[0]}
        return opened(changed(record, field, left), seen=seen)
    return opened(record, seen=seen)


def changed(record: Any, field: str, value: Any) -> Any:
    made = object.__new__(type(record))
    vars(made).update({**vars(record), field: value})
    return made


def facts_of(problem_id: str, case: Mapping[str, Any], folder: Path) -> dict[str, Observed]:
    """What the case tells, and what readers make of its command."""
    import shlex

    for name, text in case.get("files", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    context = Context(tuple(shlex.split(case.get("command", ""))), folder, case.get("environ", {}))
    collector = InTurn(context, states(case.get("facts", {}), case.get("unavailable", {})), from_file="the case")
    needed = facts_needed([ENTRIES[problem_id]])
    collector.ask(needed)
    return {name: state for name, state in collector.states.items() if name in needed}


def ids(outcome: Outcome) -> set[str]:
    assert not outcome.crashed, outcome.crashed[0].traceback
    return {each.problem.id for each in outcome.findings}


def tried(problem_id: str, case: Mapping[str, Any], folder: Path, most: int | None) -> None:
    entry, facts = ENTRIES[problem_id], facts_of(problem_id, case, folder)
    before = ids(run_checks([entry], world_of(facts)))
    ways = [(name, way) for name, state in facts.items() if state.status == "ok" for way in parts_of(state.value)]
    if most is not None and len(ways) > most:
        ways = random.Random(repr(case)).sample(ways, most)  # noqa: S311 - no secret
    for name, way in ways:
        lacking = without(facts[name].value, way)
        world = world_of({each: state for each, state in facts.items() if each != name})
        world.add(Observed(name, lacking))
        after = ids(run_checks([entry], world))
        assert after <= before, f"{name}.{'.'.join(map(str, way))} is not seen, and {after - before} is found"


@for_each("problem_id, case", CASES)
def test_what_was_not_seen_makes_no_finding(problem_id: str, case: dict[str, Any], tmp_path: Path) -> None:
    tried(problem_id, case, tmp_path, DRAWN)


@pytest.mark.slow
@for_each("problem_id, case", CASES)
def test_no_part_that_was_not_seen_makes_a_finding(problem_id: str, case: dict[str, Any], tmp_path: Path) -> None:
    tried(problem_id, case, tmp_path, None)


def _closed_without(record: Any, part: tuple[Any, ...]) -> Any:
    """The record without a part, and nothing that says so; None where it cannot be without."""
    field, *rest = part
    if not rest:
        blank = next(each for each in fields(record) if each.name == field)
        missing = blank.default is MISSING and blank.default_factory is MISSING
        value = blank.default if blank.default is not MISSING else None if missing else blank.default_factory()  # type: ignore[misc]
        return None if missing else changed(record, field, value)
    if len(rest) == 1 and isinstance(held := vars(record)[field], Mapping):
        return changed(record, field, {key: each for key, each in held.items() if key != rest[0]})
    return None


@pytest.mark.parametrize("problem_id", ["DSP004", "FLA006", "PYT015", "TRL3814/groups"])
def test_without_opening_what_is_not_seen_makes_findings(problem_id: str, tmp_path: Path) -> None:
    """The tests above would fail of a fact that takes what is missing for absent: here some part makes a finding."""
    entry, made = ENTRIES[problem_id], 0
    for number, (_, (found, case)) in enumerate(each for each in CASES if each[1][0] == problem_id):
        assert found == problem_id
        (folder := tmp_path / str(number)).mkdir()
        facts = facts_of(problem_id, case, folder)
        before = ids(run_checks([entry], world_of(facts)))
        for name, state in facts.items():
            for way in parts_of(state.value) if state.status == "ok" else ():
                if (lacking := _closed_without(state.value, way)) is not None:
                    world = world_of({each: other for each, other in facts.items() if each != name})
                    world.add(Observed(name, lacking))
                    made += bool({each.problem.id for each in run_checks([entry], world).findings} - before)
    assert made
