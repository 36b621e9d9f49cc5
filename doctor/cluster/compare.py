"""Readings of many nodes laid side by side: the value of the majority, and who departs from it.

Unknown is never equal: a node that could not see what is compared is told as such. Half against half has no majority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from doctor.core.record import record
from doctor.facts.cluster import Cluster, Node

ABSENT = "none"  # a variable that is not set, a package that is not installed, where others have it


@record
class Reading:
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


def compare(cluster: Cluster, readings: Iterable[Reading]) -> tuple[Compared, ...]:
    """Each reading that at least two nodes report, in the order of the table."""
    if not _latest or _latest[0].cluster is not cluster:
        _latest[:] = [_Comparison(cluster)]
    return tuple(row for reading in readings for row in _latest[0].rows(reading))


class _Comparison:
    """One cluster's rows, each made once: the checks and the matrix ask for the same readings."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._nodes = {False: cluster.heard, True: _with_gpus(cluster.heard)}
        self._rows: dict[Reading, tuple[Compared, ...]] = {}

    def rows(self, reading: Reading) -> tuple[Compared, ...]:
        """What at least two nodes report, and what does not tell them apart by its nature."""
        if reading not in self._rows:
            compared = _one(reading, self._nodes[reading.hardware])
            self._rows[reading] = tuple(each for each in compared if each.seen > 1 and not _names_nodes(each))
        return self._rows[reading]


#: of the cluster that was asked for last, if any
_latest: list[_Comparison] = []


def _names_nodes(row: Compared) -> bool:
    """Whether a variable tells nodes apart rather than sets them: more than half of many have a value of their own."""
    return row.area == "environment" and len(row.values) > max(3, row.seen // 2)


def _with_gpus(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Nodes that have GPUs or may have; all nodes where none has any."""
    bare = {id(node) for node in nodes if has_no_gpu(node)}
    return tuple(node for node in nodes if id(node) not in bare) or nodes


def has_no_gpu(node: Node) -> bool:
    """Whether it is known that there is no NVIDIA GPU: none listed, or none on the PCI bus."""
    gpus, nvidia = node.value("gpus"), node.value("nvidia")
    if gpus is not None:
        return not gpus.gpus
    return nvidia is not None and nvidia.pci_devices == 0 and not nvidia.device_nodes


def machine(node: Node) -> str | None:
    """What tells the machine of a node from others, its kernel's boot id; None where it is not known."""
    told = node.value("node")
    return told.boot_id if told is not None else None


def _one(reading: Reading, nodes: tuple[Node, ...]) -> Iterator[Compared]:
    """One comparison; of a reading of many values one for each key that any node has."""
    values = _values(reading, nodes)
    keys = sorted({key for each in values if isinstance(each, Mapping) for key in each})
    if not keys:
        if not any(isinstance(each, Mapping) for each in values):
            yield _laid(reading, reading.name, nodes, values)
        return
    for key in keys:
        missing = ABSENT if reading.whole else None
        column = [each.get(key, missing) if isinstance(each, Mapping) else None for each in values]
        yield _laid(reading, reading.name.format(key), nodes, column)


def _values(reading: Reading, nodes: tuple[Node, ...]) -> list[Any]:
    """What each node reports; what nodes share is read once."""
    if reading.fact is None:
        return [reading.read(node) for node in nodes]
    known: dict[int, Any] = {}
    values: list[Any] = []
    for node in nodes:
        state = node.facts.get(reading.fact)
        if state is None or state.status != "ok":
            values.append(None)
            continue
        if id(state) not in known:
            known[id(state)] = reading.read(state.value)
        values.append(known[id(state)])
    return values


def _laid(reading: Reading, name: str, nodes: tuple[Node, ...], values: list[Any]) -> Compared:
    hosts: dict[Any, list[str]] = {}
    unseen = []
    for node, value in zip(nodes, values, strict=True):
        if value is None:
            unseen.append(node.name)
        else:
            hosts.setdefault(value, []).append(node.name)
    if reading.tolerance or reading.absolute:
        hosts = _within(reading, hosts)
    ordered = sorted(hosts.items(), key=lambda item: (-len(item[1]), str(item[0])))
    shown = tuple(Value(reading.show(value), tuple(names)) for value, names in ordered)
    return Compared(name, reading.area, shown, tuple(unseen))


def _within(reading: Reading, hosts: dict[Any, list[str]]) -> dict[Any, list[str]]:
    """Numbers that are equal within the tolerance put together, under the one that most nodes have."""
    groups: list[list[Any]] = []
    for value in sorted(each for each in hosts if isinstance(each, (int, float))):
        low = groups[-1][0] if groups else None
        if low is not None and value - low <= max(reading.absolute, abs(low) * reading.tolerance):
            groups[-1].append(value)
        else:
            groups.append([value])
    merged = {each: names for each, names in hosts.items() if not isinstance(each, (int, float))}
    for group in groups:
        common = max(group, key=lambda each: len(hosts[each]))
        merged[common] = [name for each in group for name in hosts[each]]
    return merged
