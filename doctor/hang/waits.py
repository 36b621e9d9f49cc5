"""What each process waits for, read off the calls its threads are blocked in, its open files and its stacks.

The main thread counts; where it waits for another thread of its process, the waits of those count for it. What a server
does between two requests is no wait: of a connection that other threads than the main one look at, or an event loop,
only that counts on which this end spoke last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from doctor.base.record import record
from doctor.catalogue.standing import Standing, judge
from doctor.hang.asked import Answer, ThreadStack
from doctor.hang.files import Connection, Files
from doctor.hang.graph import Wait
from doctor.hang.threads import Thread, read
from doctor.mend.processes.table import PROC, RunningProcess
from doctor.monitors.sampler.processes import Identity

_READS = frozenset({"read", "poll", "select", "epoll"})
_CHILDREN = frozenset({"wait", "waitid"})


@record
class Seen:
    """One process as it was looked at."""

    process: RunningProcess
    who: Identity
    threads: tuple[Thread, ...]
    answer: Answer = Answer()

    @property
    def main(self) -> Thread | None:
        """Its main thread."""
        return self.threads[0] if self.threads else None

    def stack(self, tid: int) -> ThreadStack | None:
        """Stack of one of its threads."""
        return next((each for each in self.answer.stacks if each.tid == tid), None)


def waits_of(seen: Mapping[int, Seen], files: Files, proc: Path = PROC) -> list[Wait]:
    """All waits of some processes, for each other and for others."""
    found = list(_of_collectives(seen.values()))
    inside = {each.who for each in found}
    locks = _locks(proc)
    for pid, each in seen.items():
        if pid not in inside and each.who.role != "launcher":
            found += _of_process(each, seen, files, locks)
    return found


def _of_process(each: Seen, seen: Mapping[int, Seen], files: Files, locks: Mapping[int, int]) -> list[Wait]:
    main = each.main
    if main is None or main.state == "R":
        return []
    own = list(_of_thread(each, main, seen, files, locks, strict=False))
    if own or main.call not in ("futex", ""):
        return own
    return [
        wait for thread in each.threads[1:]
        for wait in _of_thread(each, thread, seen, files, locks, strict=True)
    ]  # fmt: skip


def _of_thread(
    each: Seen, thread: Thread, seen: Mapping[int, Seen], files: Files, locks: Mapping[int, int], *, strict: bool
) -> Iterator[Wait]:
    pid = each.process.pid
    if thread.call in _CHILDREN and not strict:
        children = [other for other, one in seen.items() if one.process.parent == pid]
        targets = children if thread.target is None else [thread.target] if thread.target in seen else []
        if targets:
            yield Wait(pid, tuple(targets), "child", since_s=thread.still_s)
    elif thread.call == "lock" and thread.tid in locks:
        yield Wait(pid, (locks[thread.tid],), "lock", since_s=thread.still_s)
    elif thread.call in _READS:
        several = len(thread.files) > 1 or thread.call == "epoll" or strict
        for number in thread.files:
            yield from _at_file(each, thread, number, seen, files, asked_only=several)
    elif thread.call == "write":
        for number in thread.files:
            yield from _writing(pid, thread, number, files)


def _at_file(
    each: Seen, thread: Thread, number: int, seen: Mapping[int, Seen], files: Files, *, asked_only: bool
) -> Iterator[Wait]:
    """What a thread that reads from a file, or polls it, waits for."""
    pid = each.process.pid
    inode = files.sockets.get(pid, {}).get(number)
    if inode is not None and inode in files.connections:
        connection = files.connections[inode]
        if not asked_only or (connection.asked and not files.is_server(pid, connection)):
            yield _at_connection(pid, thread, connection, files)
    elif inode is not None and inode in files.peers and not asked_only:
        targets = files.owners.get(files.peers[inode], frozenset()) - {pid}
        if targets:
            yield Wait(pid, tuple(sorted(targets)), "unix", since_s=thread.still_s)
    elif (pipe := files.pipes.get(pid, {}).get(number)) is not None and thread.call != "epoll":
        writers = files.writers.get(pipe, frozenset()) - {pid}
        parent = each.process.parent
        if parent in writers and parent in seen:  # what was forked holds ends of pipes that are not its own
            writers = frozenset({parent})
        if writers:
            yield Wait(pid, tuple(sorted(writers)), "pipe", since_s=thread.still_s)


def _at_connection(pid: int, thread: Thread, connection: Connection, files: Files) -> Wait:
    others = files.other_end(connection)
    targets = others - {pid}
    host, port = connection.remote
    since = connection.sent_s if connection.asked else thread.still_s
    what = f":{port}" if port in files.listeners else f"{host}:{port}"
    return Wait(
        pid, tuple(sorted(targets)), "socket", what=what if not files.is_server(pid, connection) else "",
        outside="" if others else f"{host}:{port}", since_s=since,
    )  # fmt: skip


def _writing(pid: int, thread: Thread, number: int, files: Files) -> Iterator[Wait]:
    """Who does not read what a thread wants to write."""
    pipe = files.pipes.get(pid, {}).get(number)
    inode = files.sockets.get(pid, {}).get(number)
    targets: frozenset[int] = frozenset()
    if pipe is not None:
        targets = files.readers.get(pipe, frozenset())
    elif inode is not None and inode in files.connections:
        targets = files.other_end(files.connections[inode])
    if targets - {pid}:
        yield Wait(pid, tuple(sorted(targets - {pid})), "write", since_s=thread.still_s)


def _standing(each: Seen) -> Standing | None:
    """A rank's main thread as the guard would tell it."""
    if each.who.rank is None or each.who.role != "trainer" or each.main is None:
        return None
    stack = each.stack(each.process.pid)
    if stack is None:
        return None
    return Standing(each.who.rank, 1, None, 0.0, None, stack.frames, pid=each.process.pid)


def _of_collectives(seen: Iterable[Seen]) -> Iterator[Wait]:
    """Ranks that wait in a collective wait for those that are in another one, or in none."""
    ranks = {each.process.pid: standing for each in seen if (standing := _standing(each)) is not None}
    if judge(ranks.values()) is None:
        return
    numbers = {each.process.pid: _number(each.answer) for each in seen}
    stills = {each.process.pid: each.main.still_s if each.main else None for each in seen}
    for pid, standing in ranks.items():
        if standing.collective is None:
            continue
        mine = (standing.collective, numbers.get(pid))
        others = [
            other for other, each in ranks.items() if other != pid and (each.collective, numbers.get(other)) != mine
        ]
        what = f"{mine[0]} #{mine[1]}" if mine[1] is not None else mine[0]
        yield Wait(pid, tuple(others), "collective", every=True, what=what, since_s=stills[pid], sure=False)


def _number(answer: Answer) -> int | None:
    """Number of the first collective of the rank that is under way."""
    numbers = [each.get("collective_seq_id") for each in answer.collectives]
    return next((each for each in numbers if isinstance(each, int)), None)


def _locks(proc: Path) -> dict[int, int]:
    """Process that waits for a lock of a file -> process that holds it (proc_locks(5))."""
    found: dict[int, int] = {}
    holders: dict[str, int] = {}
    for line in read(proc / "locks").splitlines():
        columns = line.split()
        waits = "->" in columns
        rest = [word for word in columns[1:] if word != "->"]
        if len(rest) < 4 or not rest[3].lstrip("-").isdigit():
            continue
        if waits and columns[0] in holders:
            found[int(rest[3])] = holders[columns[0]]
        elif not waits:
            holders[columns[0]] = int(rest[3])
    return found


def busiest(each: Seen, before: Mapping[int, int], after: Mapping[int, int]) -> tuple[Thread | None, float]:
    """The thread that used most of the processor between two looks, and the ticks it used; the main one where none."""
    used = {thread.tid: after.get(thread.tid, 0) - before.get(thread.tid, 0) for thread in each.threads}
    most: Sequence[Thread] = sorted(each.threads, key=lambda thread: -used[thread.tid])
    if most and used[most[0].tid] > 0:
        return most[0], float(used[most[0].tid])
    return each.main, 0.0
