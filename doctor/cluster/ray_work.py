"""Tasks over nodes and over items of a Ray cluster, each under its deadline; runs in the Ray driver (`ray_main`).

A request holds:
    task: "package.module:function" of a carried module; called on a node with one mapping, its answer must be JSON.
    arguments: what the function gets; besides, "node" (id, name, address) and, over items, "item".
    over: "nodes" (once on each live node) or "items" (`items`: each once, on any node; at most `per_node` at a time on
        each, its number of CPUs where none is given).
    timeout_s: for one task from the moment that it is handed to Ray; deadline_s: for all of them together.
A line for each: {"kind": "answer", "node": id, "item": index or None, "state", "reason", "seconds", "clock_offset_s",
"clock_error_s", "value"}. Keeps to Python 3.9, the standard library and Ray.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Iterable, Optional

from doctor.cluster.ray_main import Write, function_of, one_line

_PINGS = 3
_TRIES = 3  # of an item whose worker or node dies
_LOST = 2  # so many deaths or time-outs in a row, and a node gets nothing more
_PING_S = 5.0
_LOOK_S = 0.2
_FETCH_S = 15.0

#: errors of ray.exceptions that mean: the node or the worker on it is gone
_GONE = (
    "WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError", "ObjectLostError", "OwnerDiedError",
    "TaskUnschedulableError", "RayActorError", "ActorDiedError", "OutOfMemoryError",
)  # fmt: skip


class Work:
    """One call of the function: where, with what, and how far it is."""

    def __init__(self, arguments: dict[str, Any], item: Optional[int] = None, tries: int = 1) -> None:
        self.arguments = arguments
        self.item = item
        self.tries = tries  # how often it may be handed out
        self.node: dict[str, Any] = {}
        self.line: Optional[dict[str, Any]] = None  # the answer, while the clocks are compared
        self.until = self.sent_at = self.began = 0.0
        self.pings = 0


def ask_nodes(ray: Any, request: dict[str, Any], nodes: list[dict[str, Any]], write: Write) -> None:
    """Call the function once on each live node; a node that was dead before has its line too."""
    crew = _Crew(ray, request, write)
    for node in nodes:
        if node["alive"]:
            crew.hand_out(Work(request["arguments"]), node)
        else:
            why = node["reason"] or "Ray does not say why"
            write(_line(node["id"], None, "died", f"dead before the query: {why}"))
    while crew.busy:
        crew.look()


def share_items(ray: Any, request: dict[str, Any], nodes: list[dict[str, Any]], write: Write) -> None:
    """Call the function once for each item; whoever is free takes the next, and what died is tried elsewhere."""
    crew = _Crew(ray, request, write, clocks=False)
    waiting = deque(
        Work({**request["arguments"], "item": item}, index, _TRIES) for index, item in enumerate(request["items"])
    )
    living = {node["id"]: node for node in nodes if node["alive"]}
    free = _seats(living.values(), request.get("per_node"))
    lost: dict[str, int] = {}  # node -> tasks in a row that died there or gave no answer in time
    while waiting or crew.busy:
        while waiting and free and not crew.over:
            work = waiting.popleft()
            crew.hand_out(work, living[_seat(free, work.node.get("id"))])
        if not crew.busy:  # no node is left, or no time
            _give_up(waiting, write, over=crew.over)
            return
        for work, state in crew.look():
            name = work.node["id"]
            lost[name] = lost.get(name, 0) + 1 if state in ("died", "silent") else 0
            if state == "died" and work.tries > 0:
                waiting.appendleft(work)
            if lost[name] < _LOST:
                free.append(name)
            else:
                free = [each for each in free if each != name]


def _seat(free: list[str], avoid: Optional[str]) -> str:
    """Take a free seat, on another node than the one where this died, if there is one."""
    index = next((at for at, name in enumerate(free) if name != avoid), 0)
    return free.pop(index)


def _seats(nodes: Iterable[dict[str, Any]], per_node: Optional[int]) -> list[str]:
    """Ids of nodes, each as often as it may be busy at a time; in turn, so that all nodes get work first."""
    rounds = [(turn, node["id"]) for node in nodes for turn in range(per_node or _cpus(node))]
    return [name for _, name in sorted(rounds, key=lambda each: each[0])]


def _cpus(node: dict[str, Any]) -> int:
    return max(1, int(node["resources"].get("CPU", 1)))


def _give_up(waiting: Iterable[Work], write: Write, *, over: bool) -> None:
    state, reason = ("silent", "the time for all was over") if over else ("died", "no node is left to ask")
    for work in waiting:
        write(_line(None, work.item, state, reason))


class _Crew:
    """Tasks under way: hand out, and look what has come."""

    def __init__(self, ray: Any, request: dict[str, Any], write: Write, *, clocks: bool = True) -> None:
        self._ray = ray
        self._write = write
        self._clocks = clocks
        self._task = request["task"]
        self._timeout_s = float(request["timeout_s"])
        self._end = time.monotonic() + float(request["deadline_s"])
        self._work: dict[Any, Work] = {}
        self._call = ray.remote(num_cpus=0, max_retries=0)(call)
        self._ping = ray.remote(num_cpus=0, max_retries=0)(time_there)

    @property
    def busy(self) -> bool:
        """Whether an answer is still awaited."""
        return bool(self._work)

    @property
    def over(self) -> bool:
        """Whether the time for all tasks together is up."""
        return time.monotonic() >= self._end

    def hand_out(self, work: Work, node: dict[str, Any]) -> None:
        """Start a task on one node and nowhere else."""
        work.node, work.began = node, time.monotonic()
        work.tries -= 1
        work.until = min(work.began + self._timeout_s, self._end)
        arguments = {**work.arguments, "node": {key: node[key] for key in ("id", "name", "address")}}
        self._work[self._pinned(self._call, node).remote(self._task, arguments)] = work

    def look(self) -> list[Any]:
        """Wait a moment; the (work, state) pairs that were settled. What may be tried again has no line yet.

        Fetching many answers takes time, in which others may come: only what was not there at the look can be late.
        """
        ready, waiting = self._ready()
        looked, now = time.monotonic(), time.time()
        late = [each for each in waiting if self._work[each].until <= looked]
        settled = [self._take(reference, self._work.pop(reference), now) for reference in ready]
        settled += [self._late(reference, self._work.pop(reference)) for reference in late]
        return [each for each in settled if each is not None]

    def _ready(self) -> tuple[list[Any], list[Any]]:
        """References with an answer, clocks first because every moment counts as error, and those without."""
        everything = list(self._work)
        self._ray.wait(everything, num_returns=1, timeout=_LOOK_S)
        ready, waiting = self._ray.wait(everything, num_returns=len(everything), timeout=0)
        return sorted(ready, key=lambda each: self._work[each].line is None), waiting

    def _pinned(self, function: Any, node: dict[str, Any]) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return function.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node["id"], soft=False))

    def _take(self, reference: Any, work: Work, now: float) -> Any:
        """One reference has an answer since `now` or before: the function's, or its node's clock."""
        state, value = fetched(self._ray, reference)
        if work.line is not None:
            return self._compared(work, state, value, now)
        line = _line(work.node["id"], work.item, state, "" if state == "ok" else value)
        line["seconds"] = time.monotonic() - work.began
        if state == "ok":
            line["value"] = value
        work.line = line
        if state == "ok" and self._clocks:
            return self._send_ping(work)
        return self._done(work)

    def _send_ping(self, work: Work) -> None:
        """Ask for the node's time; the worker that answered is warm, so that the way takes milliseconds."""
        work.pings += 1
        work.until = min(time.monotonic() + _PING_S, self._end)
        reference = self._pinned(self._ping, work.node).remote()
        work.sent_at = time.time()
        self._work[reference] = work

    def _compared(self, work: Work, state: str, theirs: Any, now: float) -> Any:
        """Keep the comparison of clocks with the shortest way; half of the way is what it can be wrong by."""
        assert work.line is not None  # noqa: S101 - for the type checker: pings follow answers
        error = (now - work.sent_at) / 2
        if state == "ok" and (work.line["clock_error_s"] is None or error < work.line["clock_error_s"]):
            work.line.update(clock_offset_s=theirs - (now + work.sent_at) / 2, clock_error_s=error)
        if state == "ok" and work.pings < _PINGS:
            return self._send_ping(work)
        return self._done(work)

    def _late(self, reference: Any, work: Work) -> Any:
        """No answer in time: the task is ended, for nobody waits for it any more."""
        self._ray.cancel(reference, force=True)
        if work.line is None:
            waited = time.monotonic() - work.began
            work.line = _line(work.node["id"], work.item, "silent", f"no answer within {waited:.0f} s")
            work.line["seconds"] = waited
        return self._done(work)

    def _done(self, work: Work) -> Any:
        line, work.line = work.line, None
        assert line is not None  # noqa: S101 - for the type checker: only settled work comes here
        if line["state"] != "died" or work.tries < 1:
            self._write(line)
        return work, line["state"]


def call(task: str, arguments: dict[str, Any]) -> Any:
    """On a node: call the function and return what it returns."""
    return function_of(task)(arguments)


def time_there() -> float:
    """On a node: seconds since the epoch by its clock."""
    return time.time()


def fetched(ray: Any, reference: Any) -> Any:
    """("ok", value), or the state and the reason of a task that gave none."""
    try:
        return "ok", ray.get(reference, timeout=_FETCH_S)
    except ray.exceptions.GetTimeoutError:
        return "silent", f"its answer was lost: nothing came within {_FETCH_S:.0f} s"
    except ray.exceptions.RayTaskError as exc:
        return "failed", one_line(getattr(exc, "cause", None) or exc)
    except Exception as exc:  # noqa: BLE001 - Ray's classes differ from release to release: they are told by name
        names = {each.__name__ for each in type(exc).__mro__}
        return ("died" if names.intersection(_GONE) else "failed"), one_line(exc)


def _line(node: Optional[str], item: Optional[int], state: str, reason: str) -> dict[str, Any]:
    return {
        "kind": "answer", "node": node, "item": item, "state": state, "reason": reason, "seconds": None,
        "clock_offset_s": None, "clock_error_s": None, "value": None,
    }  # fmt: skip
