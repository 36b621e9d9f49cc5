"""Figures that keep coming from every node of a Ray cluster; runs in the Ray driver (`ray_main`).

`task` names a class of a carried module, made once on each live node as an actor that takes no CPU: `read()` gives what
is new as JSON, `close()` the rest. The driver asks each node in turn, so that nothing piles up where nobody reads, and
compares clocks on the way. Nodes that join later are taken in, those that are lost are told, the others go on.
Lines besides "nodes": {"kind": "rows", "node", "value"}, {"kind": "clock", "node", "offset_s", "error_s"},
{"kind": "lost" | "back", "node", "reason"}, {"kind": "joined", "nodes"}, {"kind": "beat"}.
Keeps to Python 3.9, the standard library and Ray.
"""

from __future__ import annotations

import time
from typing import Any

from doctor.cluster.ray_main import STOP, Write, function_of, nodes_of
from doctor.cluster.ray_work import fetched

#: from one reading of a node to the next; with many nodes longer, so that the driver has at most so many calls a second
PERIOD_S, MOST_CALLS_S = 1.0, 200.0
#: the first comparisons of a node's clock come with each reading, later ones seldom
CLOCKS, CLOCK_S = 5, 30.0
JOIN_S, BEAT_S, TRIES = 20.0, 1.0, 3
#: the first answer waits for a worker of Ray's to start, and for what it imports
STARTING_S = 120.0
_LOOK_S = 0.2


class NodeActor:
    """One node: its actor, the call that is under way, and how often it had to be started."""

    def __init__(self, node: dict[str, Any], name: str) -> None:
        self.node, self.name = node, name
        self.actor: Any = None
        self.doing = ""
        self.sent_s = self.sent_at = self.next_s = self.clock_s = 0.0
        self.clocks = self.tries = 0
        self.silent = self.gone = False


class NodeStream:
    """All nodes."""

    def __init__(self, ray: Any, request: dict[str, Any], write: Write) -> None:
        self._ray, self._request, self._write = ray, request, write
        self._kind = ray.remote(num_cpus=0, max_restarts=0)(function_of(request["task"]))
        self._sources: dict[str, NodeActor] = {}
        self._calls: dict[Any, NodeActor] = {}
        self._join_s = time.monotonic() + JOIN_S

    def join(self, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Start on live nodes that are not read yet; gives those that are new, with their names in the stream."""
        new = []
        for node in nodes:
            source = self._sources.get(node["id"])
            if source is None:
                source = self._sources[node["id"]] = NodeActor(node, self._unique(node["name"]))
                new.append({**node, "name": source.name})
                if not node["alive"]:
                    self._lose(source, f"Ray lists it as dead {node['reason']}".strip())
                    source.tries = TRIES
            if node["alive"] and source.actor is None and source.tries < TRIES:
                self._start(source)
        return new

    def _unique(self, name: str) -> str:
        """A name that no other node of the stream has: containers of several machines may share one."""
        taken = {each.name for each in self._sources.values()}
        numbered = (f"{name or 'node'}-{number}" for number in range(2, len(taken) + 3))
        return name if name and name not in taken else next(each for each in numbered if each not in taken)

    def _start(self, source: NodeActor) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        pinned = NodeAffinitySchedulingStrategy(node_id=source.node["id"], soft=False)
        arguments = {**self._request["arguments"], "node": source.node, "name": source.name}
        source.actor = self._kind.options(scheduling_strategy=pinned).remote(arguments)
        source.tries += 1
        source.clocks, source.next_s = 0, time.monotonic()

    def turn(self) -> None:
        """Send what is due, and take in what came."""
        now = time.monotonic()
        if now >= self._join_s:
            self._join_s = now + JOIN_S
            if new := self.join(nodes_of(self._ray)):
                self._write({"kind": "joined", "nodes": new})
        for source in self._sources.values():
            if source.actor is not None and not source.doing and now >= source.next_s:
                self._send(source, "clock" if now >= source.clock_s else "read")
            elif source.doing and not source.silent and now - source.sent_s > self._patience_s(source):
                source.silent = True
                self._lose(source, f"no answer for {now - source.sent_s:.0f} s")
        self._take(_LOOK_S)

    def _patience_s(self, source: NodeActor) -> float:
        return float(self._request["timeout_s"]) if source.clocks else STARTING_S

    def _send(self, source: NodeActor, doing: str) -> None:
        source.doing, source.sent_s = doing, time.monotonic()
        source.sent_at = time.time()
        self._calls[getattr(source.actor, doing).remote()] = source

    def _take(self, wait_s: float) -> None:
        if not self._calls:
            STOP.wait(wait_s)
            return
        self._ray.wait(list(self._calls), num_returns=1, timeout=wait_s)
        began = time.monotonic()
        for reference in self._ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)[0]:
            if time.monotonic() - began > BEAT_S:  # what was lost on the way costs seconds: the rest has its turn later
                break
            now = time.time()
            source = self._calls.pop(reference)
            state, value = fetched(self._ray, reference)
            doing, source.doing = source.doing, ""
            if state in {"ok", "silent"}:
                self._heard(source, doing, value if state == "ok" else None, now)
            else:
                source.actor, source.gone = None, True
                self._lose(source, str(value))

    def _heard(self, source: NodeActor, doing: str, value: Any, now: float) -> None:
        if source.silent or source.gone:
            source.silent = source.gone = False
            self._write({"kind": "back", "node": source.name})
        if doing != "clock":
            source.next_s = time.monotonic() + max(PERIOD_S, len(self._sources) / MOST_CALLS_S)
            if value:
                self._write({"kind": "rows", "node": source.name, "value": value})
            return
        source.clocks += 1
        source.clock_s = time.monotonic() + (0.0 if source.clocks < CLOCKS else CLOCK_S)
        if value is not None and source.clocks > 1:  # the first waits for the actor to be made
            offset, error = float(value) - (now + source.sent_at) / 2, (now - source.sent_at) / 2
            self._write({"kind": "clock", "node": source.name, "offset_s": offset, "error_s": error})

    def _lose(self, source: NodeActor, reason: str) -> None:
        self._write({"kind": "lost", "node": source.name, "reason": reason})

    def close(self, seconds: float) -> None:
        """Fetch the rest of all nodes that answer in time."""
        end = time.monotonic() + seconds
        left = list(self._sources.values())
        while (left or self._calls) and time.monotonic() < end:
            left = [source for source in left if source.actor is not None]  # some are lost on the way
            for source in left:
                if not source.doing:
                    self._send(source, "close")
            left = [source for source in left if source.doing != "close"]
            self._take(_LOOK_S)


def stream(ray: Any, request: dict[str, Any], nodes: list[dict[str, Any]], write: Write) -> None:
    """Read all nodes until the asker says stop, at the longest until it is gone."""
    flow = NodeStream(ray, request, write)
    write({"kind": "joined", "nodes": flow.join(nodes)})
    beat_s = 0.0
    while not STOP.is_set():
        flow.turn()
        if time.monotonic() >= beat_s:
            beat_s = time.monotonic() + BEAT_S
            write({"kind": "beat"})
    flow.close(float(request["close_s"]))
