"""What the nodes measured together, put together again from their parts, for the checks of slow nodes and links."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from doctor.base.halves import digits_of
from doctor.base.outliers import PAIR_FACTOR, PairCost, Slow, best_of, slow_pairs, slow_points, slow_values
from doctor.base.record import record
from doctor.base.stats import median_of_sorted
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.collectives import Collectives, Exchange, Process

Cost = Literal["bandwidth", "latency"]
End = tuple[int, int]  # (node, local)

#: how many times slower is too slow; latency is noisier than bandwidth
FACTORS: dict[Cost, float] = {"bandwidth": 1.5, "latency": 2.0}
#: how many times slower the half with a node must be, in each digit of its number
HALVES_FACTOR = 3.0
#: microseconds below which a longer latency matters to nobody
LEAST_US = 20.0
#: seconds for a byte or a message -> the cost that is compared
_COSTS: dict[Cost, Callable[[Exchange], tuple[float, float]]] = {
    "bandwidth": lambda each: (1 / each.bandwidth_gb_s, each.bandwidth_spread),
    "latency": lambda each: (each.latency_us, each.latency_spread),
}


@record
class NodeMeasurement:
    """What one node measured."""

    node: ClusterNode
    told: Collectives


@record
class SlowEnd:
    """A slow node, or one of its processes (`local`, None for the whole node); `inside`: towards its own GPUs.

    `again`: its pairs were measured more than once, and stayed slow.
    """

    node: int
    local: int | None
    cost: Cost
    slow: Slow
    again: bool
    inside: bool = False


class Measured:
    """All parts of one measurement, that of most nodes where the files of several lie together."""

    def __init__(self, cluster: Cluster) -> None:
        told = [(node, node.value("collectives")) for node in cluster.heard]
        parts = [NodeMeasurement(node, each) for node, each in told if each is not None]
        tokens = Counter(each.told.meeting for each in parts)
        token = max(tokens, key=lambda each: tokens[each]) if tokens else None
        self.parts = {each.told.node: each for each in parts if each.told.meeting == token}
        self.nodes = max((each.told.nodes for each in self.parts.values()), default=0)
        self._ranks = {node.rank: node.name for node in cluster.nodes if node.rank is not None}

    def name(self, node: int) -> str:
        """Host name of a node; its number where it left no file."""
        part = self.parts.get(node)
        return part.node.name if part else self._ranks.get(node) or f"node number {node}"

    def process(self, node: int, local: int) -> Process | None:
        """A process of a node; None where its file is missing."""
        part = self.parts.get(node)
        return next((each for each in part.told.processes if each.local == local), None) if part else None

    def processes(self) -> Iterator[tuple[int, Process]]:
        """All processes with the number of their node."""
        for number, part in sorted(self.parts.items()):
            for process in part.told.processes:
                yield number, process

    def exchanges(self, *, inside: bool) -> Iterator[Exchange]:
        """Exchanges of pairs on one node, or on two."""
        for part in self.parts.values():
            yield from (each for each in part.told.exchanges if (each.node_a == each.node_b) is inside)

    def samples(self, cost: Cost, *, inside: bool) -> list[PairCost]:
        """One sample for each pair of processes: its least cost over all measurements."""
        read = _COSTS[cost]
        return best_of(
            PairCost((each.node_a, each.local_a), (each.node_b, each.local_b), *read(each))
            for each in self.exchanges(inside=inside)
        )

    def slow_ends(self, cost: Cost) -> list[SlowEnd]:
        """Nodes whose every link is slow, then single processes of the other nodes, then what is slow inside nodes."""
        between = self.samples(cost, inside=False)
        nodes = _enough(slow_points(_of_nodes(between), factor=FACTORS[cost]), cost)
        found = [SlowEnd(each.who, None, cost, each, self._again(each.who, None)) for each in nodes]
        known = {each.who for each in nodes}
        rest = [each for each in between if not known & {end[0] for end in _ends(each)}]
        if any(end[1] for each in rest for end in _ends(each)):  # with one process a node that was said already
            processes = _enough(slow_points(rest, factor=FACTORS[cost]), cost)
            found += [self._end(each, cost, inside=False) for each in processes]
        return found + self._slow_inside(cost)

    def _slow_inside(self, cost: Cost) -> list[SlowEnd]:
        """Nodes whose own GPUs exchange slower than those of the other nodes, and single GPUs of a node."""
        by_node: dict[int, list[PairCost]] = {}
        for each in self.samples(cost, inside=True):
            by_node.setdefault(_ends(each)[0][0], []).append(each)
        whole = [PairCost(node, None, *_median(samples)) for node, samples in by_node.items()]
        slow = _enough(slow_values(whole, factor=FACTORS[cost]), cost)
        found = [SlowEnd(each.who, None, cost, each, again=False, inside=True) for each in slow]
        for node in sorted(set(by_node) - {each.node for each in found}):
            points = _enough(slow_points(by_node[node], factor=FACTORS[cost]), cost)
            found += [self._end(each, cost, inside=True) for each in points]
        return found

    def _end(self, slow: Slow, cost: Cost, *, inside: bool) -> SlowEnd:
        node, local = slow.who
        return SlowEnd(node, local, cost, slow, self._again(node, local), inside=inside)

    def slow_by_halves(self) -> tuple[int, float] | None:
        """The node that the slower halves of the rings spell, and how many times slower they are at least.

        Each binary digit of the node's number has a ring over the nodes that have it 0 and one over those that have it
        1; None unless in every digit one of the two is clearly the slower.
        """
        seconds = {
            each.group: each.seconds for part in self.parts.values() for each in part.told.rings if each.nodes > 1
        }
        number, factor = 0, math.inf
        for digit in range(digits_of(self.nodes)):
            zero, one = (seconds.get(f"digit {digit} is {value}") for value in (0, 1))
            if zero is None or one is None:
                return None
            number |= (one > zero) << digit
            factor = min(factor, max(one, zero) / min(one, zero))
        return (number, factor) if HALVES_FACTOR <= factor < math.inf and number in self.parts else None

    @property
    def whole(self) -> bool:
        """Whether the time was enough for all pairs."""
        return all(each.outcome == "ok" for _, each in self.processes())

    def slow_links(self, cost: Cost) -> list[tuple[Slow, int]]:
        """Single pairs of nodes that are slow while both get on well with the others, and how often they were measured.

        Only those that were measured again are given.
        """
        known = {each.node for each in self.slow_ends(cost) if not each.inside}
        pairs = [each for each in _of_nodes(self.samples(cost, inside=False)) if not known & {each.a, each.b}]
        slow = _enough(slow_pairs(pairs), cost)
        times = [(each, 1 + self._repeats(*each.who)) for each in slow]
        return [(each, count) for each, count in times if count > 1]

    def slow_rails(self, cost: Cost) -> list[tuple[Slow, int]]:
        """Of two nodes alone: pairs of their GPUs that are slow while the other pairs are not; as `slow_links` gives.

        Each GPU has one partner there, so either of the two may be the slow one.
        """
        samples = self.samples(cost, inside=False)
        if len({frozenset(end[0] for end in _ends(each)) for each in samples}) != 1:
            return []
        named = [PairCost(_ends(each), None, each.cost, each.spread) for each in samples]
        slow = _enough(slow_values(named, factor=PAIR_FACTOR), cost)
        times = [(each, 1 + self._repeats_of(each.who)) for each in slow]
        return [(each, count) for each, count in times if count > 1]

    @staticmethod
    def node_of(end: Any) -> int:
        """The node of an end of a sample."""
        return int(end[0])

    def _again(self, node: int, local: int | None) -> bool:
        """Whether most pairs of a node or process were measured more than once."""
        first: set[tuple[End, End]] = set()
        again: set[tuple[End, End]] = set()
        for each in [*self.exchanges(inside=False), *self.exchanges(inside=True)]:
            ends = ((each.node_a, each.local_a), (each.node_b, each.local_b))
            if any(end[0] == node and local in (None, end[1]) for end in ends):
                (again if each.repeat else first).add(ends)
        return bool(again) and 2 * len(again) >= min(len(first), 12)  # as many rounds are given to repetitions

    def _repeats(self, a: Any, b: Any) -> int:
        pair = {a, b}
        return max(each.repeat for each in self.exchanges(inside=False) if {each.node_a, each.node_b} == pair)

    def _repeats_of(self, ends: tuple[End, End]) -> int:
        found = [
            (each.repeat, {(each.node_a, each.local_a), (each.node_b, each.local_b)})
            for each in self.exchanges(inside=False)
        ]
        return max(repeat for repeat, pair in found if pair == set(ends))


def summary(cluster: Cluster) -> str | None:
    """One clause on what was measured between nodes; None where nothing was."""
    measured = Measured(cluster)
    costs = {cost: sorted(each.cost for each in measured.samples(cost, inside=False)) for cost in FACTORS}
    if not costs["bandwidth"]:
        return None
    slowest, median = 1 / costs["bandwidth"][-1], 1 / median_of_sorted(costs["bandwidth"])
    count = len(costs["bandwidth"])
    return (
        f"{count} link{'' if count == 1 else 's'} measured: median {median:.3g} GB/s and "
        f"{median_of_sorted(costs['latency']):,.0f} µs, slowest {slowest:.3g} GB/s"
    )


def _ends(sample: PairCost) -> tuple[End, End]:
    return sample.a, sample.b  # type: ignore[return-value]  # this module put them in


def _of_nodes(samples: Iterable[PairCost]) -> list[PairCost]:
    """One sample for each pair of nodes: the median of their processes'."""
    pairs: dict[tuple[int, int], list[PairCost]] = {}
    for each in samples:
        (a, _), (b, _) = _ends(each)
        pairs.setdefault((min(a, b), max(a, b)), []).append(each)
    return [PairCost(a, b, *_median(of_pair)) for (a, b), of_pair in pairs.items()]


def _median(samples: list[PairCost]) -> tuple[float, float]:
    """Median cost and spread."""
    return median_of_sorted(sorted(each.cost for each in samples)), median_of_sorted(
        sorted(each.spread for each in samples)
    )


def _enough(slow: list[Slow], cost: Cost) -> list[Slow]:
    """Without latencies that are longer by nothing that matters."""
    return [each for each in slow if cost == "bandwidth" or each.own - each.others >= LEAST_US]


def slow_products(measured: Measured) -> list[tuple[int, Process, Slow]]:
    """(node, process, how slow) of devices that multiply slower than the others of their model.

    A quarter slower for a GPU: good ones of one model differ by 8 % on average, bad ones by up to a third
    (https://arxiv.org/abs/2208.11035). For a CPU core, which shares its hardware with whatever else runs, four times.
    """
    kinds: dict[tuple[str | None, str], list[tuple[int, Process]]] = {}
    for node, process in measured.processes():
        if process.product is not None:
            kinds.setdefault((process.gpu_name, process.product.dtype), []).append((node, process))
    found = []
    for (gpu_name, _), of_kind in kinds.items():
        samples = [
            PairCost(at, None, 1 / process.product.tflops, process.product.spread)
            for at, (_, process) in enumerate(of_kind)
            if process.product is not None
        ]
        slow = slow_values(samples, factor=4 / 3 if gpu_name else 4.0)
        found += [(*of_kind[each.who], each) for each in slow]
    return found
