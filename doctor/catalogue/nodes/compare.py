"""Readings of many nodes laid side by side: the value of the majority, and who departs from it.

Unknown is never equal: a node that could not see what is compared is told as such. Half against half has no majority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from doctor.base.record import record
from doctor.facts.cluster import Cluster, ClusterNode

ABSENT = "none"  # a variable that is not set, a package that is not installed, where others have it


#: values, each with the places of the nodes that have it
_Groups = list[tuple[Any, list[int]]]


@record
class NodeReading:
    """Something that can be compared between nodes.

    Args:
        name: as people call it, "driver"; `{}` in it is filled with the key of a reading of many values.
        area: "software", "gpu", "network", "host", "files", "launch", "ray", "environment".
        fact: the fact that it is read from, None for the node itself (its clock, its resources).
        read: value of the fact -> text, number, None where it is not reported; or a mapping, one reading for each key.
        tolerance: two numbers are equal within this share of the lower one; `absolute` within this difference.
        show: a number for people.
        hardware: compared among nodes with GPUs alone where there are any, for a head node is another machine.
        whole: of a mapping: a key that a node lacks is a value of its own (not installed, not set), not unknown.

    """

    name: str
    area: str
    fact: str | None
    read: Callable[[Any], Any]
    tolerance: float = 0.0
    absolute: float = 0.0
    show: Callable[[Any], str] = str
    hardware: bool = False
    whole: bool = False


@record
class Value:
    """A value as shown, and the nodes that have it."""

    text: str
    hosts: tuple[str, ...]


@record
class Compared:
    """One reading over all nodes: values by how many have them; `unseen` nodes did not report it."""

    name: str
    area: str
    values: tuple[Value, ...]
    unseen: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """How many nodes reported it."""
        return sum(len(each.hosts) for each in self.values)

    @property
    def majority(self) -> Value | None:
        """The value of more than half of the nodes that report it; None where none has so many."""
        return self.values[0] if self.values and 2 * len(self.values[0].hosts) > self.seen else None

    @property
    def differs(self) -> bool:
        """Whether two nodes report different values."""
        return len(self.values) > 1


def compare(cluster: Cluster, readings: Iterable[NodeReading]) -> tuple[Compared, ...]:
    """Each reading that at least two nodes report, in the order of the table."""
    if not _latest or _latest[0].cluster is not cluster:
        _latest[:] = [_Comparison(cluster)]
    return tuple(row for reading in readings for row in _latest[0].rows(reading))


class _Comparison:
    """One cluster's rows, each made once: the checks and the matrix ask for the same readings."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._nodes = {False: cluster.heard, True: _with_gpus(cluster.heard)}
        self._rows: dict[NodeReading, tuple[Compared, ...]] = {}
        self._states: dict[tuple[str, bool], _Groups] = {}

    def rows(self, reading: NodeReading) -> tuple[Compared, ...]:
        """What at least two nodes report, and what does not tell them apart by its nature."""
        if reading not in self._rows:
            compared = _one(reading, self._nodes[reading.hardware], self._values(reading))
            self._rows[reading] = tuple(each for each in compared if each.seen > 1 and not _names_nodes(each))
        return self._rows[reading]

    def _values(self, reading: NodeReading) -> _Groups:
        """What each node reports; what nodes share is read once."""
        nodes = self._nodes[reading.hardware]
        if reading.fact is None:
            return [(reading.read(node), [at]) for at, node in enumerate(nodes)]
        key = reading.fact, reading.hardware
        if key not in self._states:
            self._states[key] = _shared(reading.fact, nodes)
        return [(None if value is None else reading.read(value), at) for value, at in self._states[key]]


def _shared(fact: str, nodes: tuple[ClusterNode, ...]) -> _Groups:
    """Each value of a fact, by identity, with the places of the nodes that have the very same."""
    places: dict[int, list[int]] = {}
    for at, node in enumerate(nodes):
        places.setdefault(id(node.facts.get(fact)), []).append(at)
    return [(nodes[at[0]].value(fact), at) for at in places.values()]


#: of the cluster that was asked for last, if any
_latest: list[_Comparison] = []


def _names_nodes(row: Compared) -> bool:
    """Whether a variable tells nodes apart rather than sets them: more than half of many have a value of their own."""
    return row.area == "environment" and len(row.values) > max(3, row.seen // 2)


def _with_gpus(nodes: tuple[ClusterNode, ...]) -> tuple[ClusterNode, ...]:
    """Nodes that have GPUs or may have; all nodes where none has any."""
    bare = {id(node) for node in nodes if has_no_gpu(node)}
    return tuple(node for node in nodes if id(node) not in bare) or nodes


def has_no_gpu(node: ClusterNode) -> bool:
    """Whether it is known that there is no NVIDIA GPU: none listed, or none on the PCI bus."""
    gpus, nvidia = node.value("gpus"), node.value("nvidia")
    if gpus is not None:
        return not gpus.gpus
    return nvidia is not None and nvidia.pci_devices == 0 and not nvidia.device_nodes


def machine(node: ClusterNode) -> str | None:
    """What tells the machine of a node from others, its kernel's boot id; None where it is not known."""
    told = node.value("node")
    return told.boot_id if told is not None else None


def _one(reading: NodeReading, nodes: tuple[ClusterNode, ...], groups: _Groups) -> Iterator[Compared]:
    """One comparison; of a reading of many values one for each key that any node has."""
    keys = sorted({key for each, _ in groups if isinstance(each, Mapping) for key in each})
    if not keys:
        if not any(isinstance(each, Mapping) for each, _ in groups):
            yield _laid(reading, reading.name, nodes, groups)
        return
    missing = ABSENT if reading.whole else None
    for key in keys:
        column = [(each.get(key, missing) if isinstance(each, Mapping) else None, at) for each, at in groups]
        yield _laid(reading, reading.name.format(key), nodes, column)


def _laid(reading: NodeReading, name: str, nodes: tuple[ClusterNode, ...], groups: _Groups) -> Compared:
    places: dict[Any, list[int]] = {}
    for value, at in groups:
        places.setdefault(value, []).extend(at)
    unseen = places.pop(None, [])
    if reading.tolerance or reading.absolute:
        places = _within(reading, places)
    names = [node.name for node in nodes]

    def named(at: list[int]) -> tuple[str, ...]:
        return tuple(map(names.__getitem__, sorted(at)))

    ordered = sorted(places.items(), key=lambda item: (-len(item[1]), str(item[0])))
    shown = tuple(Value(reading.show(value), named(at)) for value, at in ordered)
    return Compared(name, reading.area, shown, named(unseen))


def _within(reading: NodeReading, places: dict[Any, list[int]]) -> dict[Any, list[int]]:
    """Numbers that are equal within the tolerance put together, under the one that most nodes have."""
    groups: list[list[Any]] = []
    for value in sorted(each for each in places if isinstance(each, (int, float))):
        low = groups[-1][0] if groups else None
        if low is not None and value - low <= max(reading.absolute, abs(low) * reading.tolerance):
            groups[-1].append(value)
        else:
            groups.append([value])
    merged = {each: at for each, at in places.items() if not isinstance(each, (int, float))}
    for group in groups:
        common = max(group, key=lambda each: len(places[each]))
        merged[common] = [at for each in group for at in places[each]]
    return merged
