"""One look at a run that stands still: its processes, their stacks and calls, and the graph of their waits."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from doctor.base.record import record
from doctor.catalogue.standing import Standing
from doctor.hang import asked, locks, ray_state, store
from doctor.hang.files import Files, files_of
from doctor.hang.graph import Graph, graph_of
from doctor.hang.members import label
from doctor.hang.threads import Thread, threads_of, ticks_of
from doctor.hang.tracing import refused
from doctor.hang.waits import Seen, busiest, waits_of
from doctor.logs import flight_recorder
from doctor.mend.processes.table import PROC, RunningProcess, age_s, everybody
from doctor.monitors.sampler.processes import identity

_PYTHON = re.compile(r"^python[\d.]*$")
#: how often processes at the other end of a wait are added to those looked at
_ROUNDS = 4
#: processes whose open files are read, to find who holds the other end
_MOST = 2000
#: least seconds between two looks at what the threads use, and the share of a core that counts as busy
_WATCHED_S, _BUSY = 0.6, 0.05


@record
class ProcessNode:
    """One process of the graph.

    Args:
        pid, name: "rank 3", "reward.py (pid 20)".
        title: its command.
        state: "runs", "sleeps", "stuck" (in the kernel), "idle" (waits for requests), "waits".
        at: innermost frame outside of the standard library, "" where its Python stack is unknown.
        values: what its innermost frames hold.
        cores: share of a core that its busiest thread uses.
        by: who told its stacks, "hook" or "py-spy"; `blind`: why there are none.
        frames: of the thread that counts, innermost first, as text.
        led_by: the innermost frame of the user's own code, where `at` is in a library.

    """

    pid: int
    name: str
    title: str
    state: str
    at: str
    values: tuple[tuple[str, str], ...] = ()
    cores: float = 0.0
    by: str = ""
    blind: str = ""
    frames: tuple[str, ...] = ()
    led_by: str = ""


@record
class Hang:
    """What a look shows.

    Args:
        nodes: by process id.
        graph: of their waits.
        locked: process -> circles of its threads that wait for each other's locks.
        arrived: who has come to the making of a process group.
        recorded: sentences of what the flight recorders of NCCL show.
        notes: what could not be asked, and why.
        seconds: that the look took.

    """

    nodes: Mapping[int, ProcessNode]
    graph: Graph
    locked: Mapping[int, tuple[locks.Locked, ...]] = field(default_factory=dict)
    arrived: tuple[store.Arrived, ...] = ()
    recorded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


def look(members: Sequence[RunningProcess], run: Path | None, to: str, proc: Path = PROC) -> Hang:
    """Look at some processes, and at whom they wait for; they go on afterwards.

    Args:
        members: processes of the run.
        run: its folder, None where it has none.
        to: name of this look.
        proc: where /proc lies.

    """
    begin_s = time.monotonic()
    processes = everybody(proc)
    seen = {each.pid: _seen(each, proc) for each in members}
    files = files_of(_visible(processes), proc)
    ticks = {pid: ticks_of(pid, proc) for pid in processes}
    _add_peers(seen, files, processes, proc)
    time.sleep(max(0.0, begin_s + _WATCHED_S - time.monotonic()))
    took = (time.monotonic() - begin_s) * os.sysconf("SC_CLK_TCK")
    used = {pid: ticks_of(pid, proc) for pid in seen}  # before they are asked: to answer takes processor time, too
    answers = asked.answers([*seen], [pid for pid, each in seen.items() if _is_python(each.process)], run, to)
    for pid, each in seen.items():  # whose program may not even be read
        if pid not in answers and each.process.program is None and each.process.command and each.process.state != "Z":
            answers[pid] = asked.Answer(blind=refused(each.process.uid, proc))
    seen = {
        pid: Seen(each.process, each.who, each.threads, answers.get(pid, each.answer)) for pid, each in seen.items()
    }
    under_way, no_ray = ray_state.tasks(seen.values()) if any(map(_in_ray, seen.values())) else ((), "")
    waits = waits_of(seen, files, proc)
    of_ray = ray_state.waits_in_ray(seen, under_way)
    inside = {each.who for each in of_ray}
    graph = graph_of([*(each for each in waits if each.who not in inside), *of_ray])
    nodes = {
        pid: _node(each, processes.get(each.process.parent), graph, ticks.get(pid, {}), used.get(pid, {}), took)
        for pid, each in seen.items()
    }
    arrived, no_store = store.arrived(seen)
    notes = tuple(dict.fromkeys(each for each in (no_ray, no_store, *(node.blind for node in nodes.values())) if each))
    return Hang(nodes, graph, _locked(seen, proc), arrived, _recorded(run), notes, round(time.monotonic() - begin_s, 1))


def _locked(seen: Mapping[int, Seen], proc: Path) -> dict[int, tuple[locks.Locked, ...]]:
    """One circle of threads a process; that of most threads."""
    found = {}
    for pid, each in seen.items():
        started_s = time.time() - (age_s(each.process, proc) or 0.0)
        circles = locks.circles(each.answer.stacks, each.threads, started_s)
        if circles:
            found[pid] = max(circles, key=len)
    return found


def _seen(process: RunningProcess, proc: Path) -> Seen:
    return Seen(process, identity(process.pid, proc), threads_of(process.pid, proc))


def _visible(processes: Mapping[int, RunningProcess]) -> list[int]:
    mine = os.geteuid()
    return [pid for pid, each in processes.items() if mine in (0, each.uid) and pid != os.getpid()][:_MOST]


def _add_peers(seen: dict[int, Seen], files: Files, processes: Mapping[int, RunningProcess], proc: Path) -> None:
    """Look also at those that somebody waits for: a server that was started apart from the run."""
    for _ in range(_ROUNDS):
        wanted = {pid for each in waits_of(seen, files, proc) for pid in each.targets} - seen.keys()
        if not wanted:
            return
        seen.update({pid: _seen(processes[pid], proc) for pid in sorted(wanted) if pid in processes})


def _is_python(process: RunningProcess) -> bool:
    return bool(_PYTHON.match(process.program or ""))


def _in_ray(each: Seen) -> bool:
    return each.process.command.startswith("ray::") or "raylet" in each.process.command


def _node(
    each: Seen,
    parent: RunningProcess | None,
    graph: Graph,
    before: Mapping[int, int],
    after: Mapping[int, int],
    took: float,
) -> ProcessNode:
    pid = each.process.pid
    thread, used = busiest(each, before, after)
    cores = used / took if took else 0.0
    if cores < _BUSY:
        thread = next((one for one in each.threads if one.state == "R"), each.main)
    stack = (each.stack(thread.tid) if thread else None) or next(iter(each.answer.stacks), None)
    at, led_by = _place(stack)
    return ProcessNode(
        pid, label(each.process, each.who, parent), each.process.title, _state(thread, cores, bool(graph.of(pid))), at,
        stack.values if stack else (), round(cores, 2), each.answer.by, each.answer.blind,
        tuple(f"{function} ({file}:{line})" for file, line, function in (stack.frames if stack else ())[:30]), led_by,
    )  # fmt: skip


def _place(stack: asked.ThreadStack | None) -> tuple[str, str]:
    """The innermost frame with a name outside of the standard library, and the user's own that led there."""
    if stack is None:
        return "", ""
    named = tuple(each for each in stack.frames if not each[2].startswith("<") or each[2] == "<module>")
    standing = Standing(0, 1, None, 0.0, None, named or stack.frames)
    own = standing.led_by[-1:]
    return standing.at, own[0] if own and own[0] != standing.at else ""


def _state(thread: Thread | None, cores: float, waits: bool) -> str:
    if thread is not None and thread.state == "D":
        return "stuck"
    if cores >= _BUSY or (cores and thread is not None and thread.state == "R"):
        return "runs"
    if waits:
        return "waits"
    if thread is not None and thread.call == "sleep":
        return "sleeps"
    return "idle" if thread is not None and thread.call in ("accept", "epoll", "poll", "select", "read") else "stands"


def _recorded(run: Path | None) -> tuple[str, ...]:
    """What the dumps of NCCL's flight recorder in the run folder show."""
    if run is None or not (run / "stacks").is_dir():
        return ()
    try:
        return tuple(each.words("en").headline for each in flight_recorder.read(run / "stacks"))
    except Exception as error:  # noqa: BLE001 - a dump costs itself, not the look
        return (f"the dumps of the flight recorder were not read ({type(error).__name__})",)
