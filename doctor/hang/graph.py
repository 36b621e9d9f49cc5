"""Who waits for whom, as a graph: where it ends, and which of its processes wait for each other in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from doctor.base.record import record


@record
class Wait:
    """One wait of a process.

    Args:
        who: process id.
        targets: process ids that it waits for; none at a socket that it serves itself, and where `outside` says who.
        kind: "socket", "unix", "pipe", "write", "child", "lock", "collective", "ray".
        every: whether it needs all of the targets; else one of them is enough.
        what: what it waits in or at: ":8003", "all_reduce #1041".
        outside: an address on another machine, or one whose process cannot be seen; "" where there is none.
        since_s: seconds that it has waited, None where nothing tells.
        sure: whether the kernel or Ray tells it; False: read off the stacks.

    """

    who: int
    targets: tuple[int, ...]
    kind: str
    every: bool = False
    what: str = ""
    outside: str = ""
    since_s: float | None = None
    sure: bool = True


@record
class Graph:
    """Waits, and what follows of them.

    Args:
        waits: all of them.
        sinks: processes at which waits end and that wait for nobody themselves, those of most waiters first.
        cycles: processes that wait for each other so that none of them can go on, each in the order of the waits.
        waiters: sink -> processes that wait for it, at first or second hand.

    """

    waits: tuple[Wait, ...]
    sinks: tuple[int, ...] = ()
    cycles: tuple[tuple[int, ...], ...] = ()
    waiters: Mapping[int, tuple[int, ...]] | None = None

    def of(self, who: int) -> tuple[Wait, ...]:
        """Waits of a process."""
        return tuple(each for each in self.waits if each.who == who)


def graph_of(waits: Sequence[Wait]) -> Graph:
    """Find sinks and cycles."""
    waiting = {each.who for each in waits}
    ahead: dict[int, set[int]] = {}
    for each in waits:
        ahead.setdefault(each.who, set()).update(each.targets)
    reached = {pid: _reached(pid, ahead) for pid in waiting}
    sinks: dict[int, list[int]] = {}
    for pid, others in sorted(reached.items()):
        for other in others - waiting:
            sinks.setdefault(other, []).append(pid)
    order = sorted(sinks, key=lambda pid: (-len(sinks[pid]), pid))
    return Graph(
        tuple(waits), tuple(order), tuple(_cycles(_stuck(waits), ahead)), {pid: tuple(sinks[pid]) for pid in order}
    )


def _reached(pid: int, ahead: Mapping[int, Iterable[int]]) -> set[int]:
    found: set[int] = set()
    left = [pid]
    while left:
        for each in ahead.get(left.pop(), ()):
            if each not in found:
                found.add(each)
                left.append(each)
    return found


def _stuck(waits: Sequence[Wait]) -> set[int]:
    """Processes that cannot go on whatever the others do: what they wait for waits for them.

    A process goes on where one of its waits may end; a wait may end where one of its targets, or each of them where it
    needs all, may go on, and always where its other end is not seen.
    """
    stuck = {each.who for each in waits}
    while True:
        free = {who for who in stuck if any(_may_end(each, stuck) for each in waits if each.who == who)}
        if not free:
            return stuck
        stuck -= free


def _may_end(wait: Wait, stuck: set[int]) -> bool:
    if wait.outside or not wait.targets:
        return True
    ends = [target not in stuck for target in wait.targets]
    return all(ends) if wait.every else any(ends)


def _cycles(stuck: set[int], ahead: Mapping[int, Iterable[int]]) -> Iterable[tuple[int, ...]]:
    """One cycle of each group of stuck processes that reach each other."""
    inside = {pid: [each for each in ahead.get(pid, ()) if each in stuck] for pid in stuck}
    reached = {pid: _reached(pid, inside) for pid in stuck}
    done: set[int] = set()
    for pid in sorted(stuck):
        if pid not in done and pid in reached[pid]:
            done |= {other for other in reached[pid] if pid in reached[other]}
            yield _shortest(pid, inside)


def _shortest(pid: int, inside: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """The shortest way from a process back to itself."""
    ways: list[tuple[int, ...]] = [(pid,)]
    seen: set[int] = set()
    for way in ways:  # grows while it is walked
        for each in inside[way[-1]]:
            if each == pid:
                return way
            if each not in seen:
                seen.add(each)
                ways.append((*way, each))
    return (pid,)
