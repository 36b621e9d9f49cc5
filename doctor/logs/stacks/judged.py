"""Who waits for whom, by the stacks that a text quotes of several processes, or where the only one stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doctor.base.record import replace
from doctor.catalogue.finding import Finding, Where
from doctor.catalogue.index import Entry
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.stillness import Doing, Form, Stacks, Stood
from doctor.logs.failures.case import Case
from doctor.logs.stacks.doing import stood
from doctor.logs.stacks.read import by_process, stacks_in

_AREA = "launch"
#: frames of a way that are told from where it parts
_SHOWN = 3
#: functions within which ranks of one branch may stand at different layers
_PASSES = frozenset({"forward", "backward", "_forward", "run_backward", "forward_step", "custom_forward", "checkpoint"})
#: of one process alone these say why it does not go on; that it waits for a GPU or for work is what all do
_ALONE: frozenset[Doing] = frozenset({"collective", "lock", "scores", "asks", "child"})


def find(case: Case, entries: Iterable[Entry]) -> Finding | None:
    """What the catalogue says of the stacks that the logs quote; None where they quote none that tell anything."""
    if not case.whole:
        return None
    stacks = next(filter(None, map(_of_source, case.sources, case.kept)), None)
    if stacks is None:
        return None
    for entry in entries:
        if entry.area == _AREA and not (entry.has_rule or entry.has_signatures or entry.checks):
            judge = function_of(entry, "of_stacks")
            if judge is not None:
                finding: Finding = judge(stacks)
                return finding
    return None


def _of_source(source: object, lines: Sequence[tuple[int, str]]) -> Stacks | None:
    path = str(getattr(source, "path", ""))
    groups = by_process(stacks_in(lines))
    return laid_together([each for who, threads in groups if (each := stood(who, threads, path)) is not None])


def laid_together(processes: Sequence[Stood]) -> Stacks | None:
    """What the stacks of some processes come to."""
    waiting = [each for each in processes if each.doing == "collective"]
    others = [each for each in processes if each.doing != "collective"]
    if not waiting:
        alone = [each for each in others if each.doing in _ALONE]
        return _made("alone", alone, ()) if len(alone) == len(processes) == 1 else None
    named = {each.who for each in processes}
    if len(named) < len(processes) or ("" in named and len(processes) > 1):
        return None  # whose stack is whose is not told
    if others:
        return _made("outside", waiting, others)
    if len(waiting) == 1:
        return _made("alone", waiting, ())
    # of two ranks of one branch each may stand a line further
    calls = {(each.what, each.led_by.rpartition(":")[0]) for each in waiting}
    if len(calls) == 1 and (parted := _parted(waiting)):
        return _made("parted", parted, ())
    return _made("apart" if len(calls) > 1 else "same", sorted(waiting, key=lambda each: each.what), ())


def _parted(waiting: Sequence[Stood]) -> list[Stood]:
    """The processes with the frames by which their ways part, where all wait in one call and came from elsewhere.

    Ranks of one branch go through the same functions from the outermost frame on, if not through the same lines; within
    one forward pass each may stand at another layer. A way that the text cuts short is no other one.
    """
    ways = [list(reversed(each.way)) for each in waiting]
    functions = [[each.partition(" (")[0] for each in way] for way in ways]
    place = next((at for at, names in enumerate(zip(*functions, strict=False)) if len(set(names)) > 1), None)
    if place is None or (place and functions[0][place - 1] in _PASSES):
        return []
    if not place and len({_file(way[0]) for way in ways}) > 1:
        return []  # where both begin is not shown
    return [replace(each, way=tuple(way[place : place + _SHOWN])) for each, way in zip(waiting, ways, strict=True)]


def _file(frame: str) -> str:
    return frame.partition(" (")[2].partition(":")[0].rstrip(")")


def _made(form: Form, waiting: Sequence[Stood], others: Sequence[Stood]) -> Stacks | None:
    first = (others or waiting)[0] if (others or waiting) else None
    if first is None:
        return None
    where = Where(file=first.quote.origin.source or None, line=first.quote.origin.line)
    return Stacks(form, tuple(waiting), tuple(others), where)
