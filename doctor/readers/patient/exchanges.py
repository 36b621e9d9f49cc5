"""Latency and bandwidth of pairs, in rounds in which every process has at most one partner.

First the pairs inside each node (all nodes at once), then those between nodes: process `local` of one node with process
`local` of the other, so that a round loads every network card as a training does. Up to 32 nodes all pairs are
measured, above that a sample of rounds, in which each node meets twice the logarithm of their number.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from doctor.base.outliers import PairCost, suspicious
from doctor.readers.patient.products import relative_spread, settle

#: nodes up to which every pair is measured
ALL_PAIRS_NODES = 32
_PINGS, MESSAGES = 20, 5
#: bytes of a message: the first, which tells how large the timed ones may be; the largest for GPU and CPU
FIRST_BYTES, LARGEST_BYTES = 256 << 10, {"cuda": 64 << 20, "cpu": 4 << 20}
#: seconds that the timed messages of a pair shall take at most
PAIR_S = 0.4
#: passes over the suspicious pairs, and rounds in each of them
REPEATS, REPEAT_ROUNDS = 3, 12

End = tuple[int, int]  # (node, local)


class Pair(NamedTuple):
    """Two processes that exchange messages; `a` comes first and takes the time."""

    a: End
    b: End

    @property
    def inside(self) -> bool:
        """Whether both are on one node."""
        return self.a[0] == self.b[0]


def tournament(players: list[Any]) -> list[list[tuple[Any, Any]]]:
    """Rounds in which each meets each other once: the circle method (https://en.wikipedia.org/wiki/Round-robin_tournament)."""
    ring: list[Any] = [*players, *([None] if len(players) % 2 else [])]
    rounds = []
    for _ in range(len(ring) - 1):
        pairs = [(ring[at], ring[-1 - at]) for at in range(len(ring) // 2)]
        rounds.append([(a, b) for a, b in pairs if a is not None and b is not None])
        ring[1:] = [ring[-1], *ring[1:-1]]
    return rounds


def all_rounds(members: list[End]) -> list[list[Pair]]:
    """Rounds of a measurement of these processes."""
    nodes: dict[int, list[int]] = {}
    for node, local in members:
        nodes.setdefault(node, []).append(local)
    inside = [
        [[Pair((node, min(pair)), (node, max(pair))) for pair in each] for each in tournament(locals_)]
        for node, locals_ in nodes.items()
    ]
    rounds = [
        [pair for of_node in inside for pair in (of_node[at] if at < len(of_node) else [])]
        for at in range(max(map(len, inside)))
    ]
    for each in _sampled(tournament(sorted(nodes)), len(nodes)):
        matches = ((min(match), max(match)) for match in each)
        rounds.append([Pair((a, at), (b, at)) for a, b in matches for at in nodes[a] if at in nodes[b]])
    return [each for each in rounds if each]


def _sampled(rounds: list[Any], nodes: int) -> list[Any]:
    """All rounds of few nodes; of many an even choice of twice the logarithm of their number."""
    wanted = rounds_of_nodes(nodes)
    return [rounds[at * len(rounds) // wanted] for at in range(wanted)]


def rounds_of_nodes(nodes: int) -> int:
    """How many rounds are measured between nodes."""
    complete = nodes - 1 + nodes % 2
    return complete if nodes <= ALL_PAIRS_NODES else min(complete, 2 * math.ceil(math.log2(nodes)))


def repeat_rounds(lines: Iterable[dict[str, Any]]) -> list[list[Pair]]:
    """Rounds over the pairs whose bandwidth or latency is suspicious: never two pairs of a process in one round."""
    lines = list(lines)
    wanted: dict[Pair, None] = {}
    for inside in (True, False):
        kind = [each for each in lines if (each["a"][0] == each["b"][0]) is inside]
        for cost in ("byte_s", "latency_us"):
            for sample in suspicious([PairCost(tuple(each["a"]), tuple(each["b"]), each[cost]) for each in kind]):
                wanted[Pair(sample.a, sample.b)] = None  # type: ignore[arg-type]  # ends are what was put in
    rounds: list[list[Pair]] = []
    for pair in wanted:
        free = (each for each in rounds if not any(end in other for other in each for end in pair))
        chosen = next(free, None)
        if chosen is not None:
            chosen.append(pair)
        elif len(rounds) < REPEAT_ROUNDS:
            rounds.append([pair])
    return rounds


def lower_quartile(times: list[float]) -> float:
    """What the quicker quarter stays below: other work on a machine makes slower, and never quicker."""
    return sorted(times)[len(times) // 4]


class Exchange:
    """The exchanges of one process.

    Args:
        members: (node, local) in order of rank; `me` is this one.

    """

    def __init__(self, torch: Any, dist: Any, device: Any, members: list[End], me: End) -> None:
        self._torch, self._dist, self._device, self._me = torch, dist, device, me
        self._rank = {end: rank for rank, end in enumerate(members)}
        largest = LARGEST_BYTES[device.type]
        self._out = torch.ones(largest // 4, device=device, dtype=torch.float32)
        self._in = torch.empty_like(self._out)
        self._bytes = torch.zeros(1, device=device, dtype=torch.int64)

    def lines(self, pairs: Iterable[Pair]) -> Iterator[dict[str, Any]]:
        """Measure this process's pair of a round; the first of the two tells the result."""
        for pair in pairs:
            if self._me in pair:
                line = self._measure(self._rank[pair.b if pair.a == self._me else pair.a], first=pair.a == self._me)
                if pair.a == self._me:
                    yield {"a": pair.a, "b": pair.b, **line}

    def _measure(self, peer: int, *, first: bool) -> dict[str, Any]:
        """Latency in microseconds one way, and the seconds that a byte takes when both send at once."""
        for _ in range(2):
            self._ping(peer, first)  # the first message makes the connection
        pings = [self._ping(peer, first) for _ in range(_PINGS)]
        size = self._agree(self._both(peer, FIRST_BYTES), peer, first)
        self._both(peer, size)
        times = [self._both(peer, size) for _ in range(MESSAGES)]
        return {
            "latency_us": 1e6 * lower_quartile(pings) / 2,
            "latency_spread": relative_spread(pings),
            "byte_s": lower_quartile(times) / size,
            "spread": relative_spread(times),
            "bytes": size,
        }

    def _agree(self, seconds: float, peer: int, first: bool) -> int:
        """The message size for a pair of this speed: the first decides, the second is told."""
        share = PAIR_S / (MESSAGES + 1) / max(seconds, 1e-6)
        size = int(min(LARGEST_BYTES[self._device.type], max(FIRST_BYTES, share * FIRST_BYTES))) // 4 * 4
        if first:
            self._bytes.fill_(size)
        self._post(*((self._bytes, None) if first else (None, self._bytes)), peer=peer)
        return int(self._bytes.item())

    def _ping(self, peer: int, first: bool) -> float:
        """One number there and back."""
        started = time.perf_counter()
        there, back = (self._out[:2], None), (None, self._in[:2])
        for send, receive in (there, back) if first else (back, there):
            self._post(send, receive, peer=peer)
        return time.perf_counter() - started

    def _both(self, peer: int, size: int) -> float:
        """A message of `size` bytes each way at once."""
        started = time.perf_counter()
        self._post(self._out[: size // 4], self._in[: size // 4], peer=peer)
        return time.perf_counter() - started

    def _post(self, send: Any, receive: Any, *, peer: int) -> None:
        """Send, receive or both, to the end; as a batch, which goes through the communicator of all processes."""
        dist = self._dist
        operations = [] if send is None else [dist.P2POp(dist.isend, send, peer)]
        operations += [] if receive is None else [dist.P2POp(dist.irecv, receive, peer)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        settle(self._torch, self._device)
