"""What the processes say themselves: by the hook that `doctor run` carried into them, else by py-spy.

py-spy stops a process while it looks and needs the permission to trace it
(https://github.com/benfred/py-spy#when-do-you-need-to-run-as-sudo). What it tells of values passes the same rules as
those of a capsule: numbers whole, the user's text by length and hash, secrets not at all.
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from doctor.base.asking import asked
from doctor.base.own_frames import THREADS
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.catalogue.standing import Frame, of_program
from doctor.hang.tracing import is_refusal, refused
from doctor.logs.capsules.held import shown
from doctor.logs.capsules.read import load
from doctor.mend.processes.stacks import program
from doctor.mend.processes.table import read
from doctor.monitors.capsule import siblings
from doctor.monitors.capsule.values import Facts
from doctor.monitors.capsule.write import HANGS

HOOK, PY_SPY = "hook", "py-spy"
#: seconds that the hook has to answer, and py-spy to look
HOOK_S, PY_SPY_S = 2.5, 20.0
_AT_ONCE = 4
_MOST_FRAMES, _MOST_VALUES, _OPENED = 60, 12, 1
_LOOK_EVERY_S = 0.05


@record
class ThreadStack:
    """Where one thread of a process stands.

    Args:
        tid: the kernel's number of the thread, None where it is not told.
        name: of the thread.
        frames: (file, line, function), innermost first, without the doctor's own.
        values: (expression, what it is) of the innermost frames.

    """

    tid: int | None
    name: str
    frames: tuple[Frame, ...]
    values: tuple[tuple[str, str], ...] = ()


@record
class Answer:
    """What one process says.

    Args:
        by: HOOK or PY_SPY; "" where it said nothing.
        stacks: of its threads, the main one first.
        collectives: those under way by its flight recorder, as the capsule holds them.
        blind: why it said nothing.

    """

    by: str = ""
    stacks: tuple[ThreadStack, ...] = ()
    collectives: tuple[Mapping[str, Any], ...] = ()
    blind: str = ""


def answers(pids: Sequence[int], python: Iterable[int], run: Path | None, to: str) -> dict[int, Answer]:
    """Ask all of them.

    Args:
        pids: of the processes.
        python: those of them that run Python.
        run: the run folder, None where there is none.
        to: name for the capsules of this look, below the run's `hangs`.

    """
    found = _by_hook(run, to, frozenset(pids)) if run is not None else {}
    left = [pid for pid in python if pid not in found]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found.update(zip(left, pool.map(_by_py_spy, left), strict=True))
    return found


def _by_hook(run: Path, to: str, wanted: frozenset[int]) -> dict[int, Answer]:
    """Answers of those that listen: each writes a capsule, which is read here."""
    try:
        left = {pid for pid in siblings.ask_all(run, to) if pid in wanted}
    except OSError:
        return {}
    found: dict[int, Answer] = {}
    end = time.monotonic() + HOOK_S
    while left and time.monotonic() < end:
        for pid in tuple(left):
            path = next(iter((run / HANGS / to).glob(f"*-{pid}.json")), None)
            if path is not None:
                left.discard(pid)
                answer = _of_capsule(path, pid)
                if answer is not None:
                    found[pid] = answer
        time.sleep(_LOOK_EVERY_S if left else 0)
    return found


def _of_capsule(path: Path, pid: int) -> Answer | None:
    try:
        capsule = load(path)
    except (OSError, ValueError):
        return None
    frames = [(each.file, each.line, each.function) for each in capsule.stands]
    values = [(name, shown(fact)) for each in capsule.stands[:4] for name, fact in each.values.items()]
    stacks = [ThreadStack(pid, "MainThread", of_program(frames), _first(values))]
    threads = capsule.process.get("threads")
    stacks += _threads(threads if isinstance(threads, list) else [], pid)
    told = capsule.process.get("collectives")
    entries = told.get("open", []) if isinstance(told, Mapping) else []
    waiting = [each for each in entries if isinstance(each, Mapping) and each.get("state") != "completed"]
    return Answer(HOOK, tuple(stacks), tuple(waiting))


def _threads(told: Sequence[Mapping[str, Any]], pid: int) -> Iterator[ThreadStack]:
    for each in told:
        tid = each.get("tid")
        if tid != pid and each.get("name") != "MainThread":
            frames = tuple(_frame(str(line)) for line in each.get("frames", ())[:_MOST_FRAMES])
            yield ThreadStack(tid if isinstance(tid, int) else None, str(each.get("name", "")), frames)


def _frame(text: str) -> Frame:
    """Read `file:line function`."""
    place, _, function = text.rpartition(" ")
    file, _, line = place.rpartition(":")
    return file, int(line) if line.isdigit() else 0, function


def _by_py_spy(pid: int) -> Answer:
    path = program()
    if path is None:
        return Answer(blind="py-spy is not installed (pip install 'grpo-doctor[hang]')")
    try:
        done = asked([path, "dump", "--locals", "--json", "--pid", str(pid)], seconds=PY_SPY_S)
        told = json.loads(done.out) if done.code == 0 else None
    except (OSError, ValueError) as error:
        return Answer(blind=f"py-spy: {type(error).__name__}")
    if done.code is None:
        return Answer(blind=f"py-spy did not answer within {PY_SPY_S:g} s")
    if not isinstance(told, list):
        words = done.err.decode("utf-8", "replace").strip().splitlines()
        owner = read(pid)
        return Answer(blind=_why(words, owner.uid if owner is not None else -1))
    stacks = [_of_py_spy(each) for each in told if not str(each.get("thread_name") or "").startswith(THREADS)]
    return Answer(PY_SPY, tuple(sorted(stacks, key=lambda each: each.tid != pid)))


def _why(words: Sequence[str], uid: int) -> str:
    """What py-spy says; that the permission is missing in words that say what to do."""
    text = redact_text(" ".join(words))[:300]
    if is_refusal(text):
        return refused(uid)
    return f"py-spy: {text}" if text else "py-spy returned no stacks"


def _of_py_spy(thread: Mapping[str, Any]) -> ThreadStack:
    frames, values = [], []
    facts = Facts(time.monotonic() + 1.0)
    for number, each in enumerate(thread.get("frames", ())[:_MOST_FRAMES]):
        frames.append((str(each.get("filename", "")), int(each.get("line") or 0), str(each.get("name", ""))))
        if number <= _OPENED:
            values += [(str(one.get("name")), _value(facts, one)) for one in each.get("locals") or ()]
    tid = thread.get("os_thread_id")
    told = _first([pair for pair in values if pair[1]])
    name = redact_text(str(thread.get("thread_name") or ""))
    return ThreadStack(tid if isinstance(tid, int) else None, name, of_program(frames), told)


def _first(values: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each name once, as the innermost frame has it."""
    found: dict[str, str] = {}
    for name, value in values:
        found.setdefault(name, value)
    return tuple(found.items())[:_MOST_VALUES]


def _value(facts: Facts, local: Mapping[str, Any]) -> str:
    """What a local is, by the text that py-spy made of it; "" where that is no plain value."""
    try:
        value = ast.literal_eval(str(local.get("repr")))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    return shown(facts.of(value, str(local.get("name")))) if not isinstance(value, type(Ellipsis)) else ""
