"""Post-mortems over a Ray cluster: logs on a shared file system are read by the nodes that are free.

What a node cannot read, sees differently or does not answer for is read here: nothing is lost, and the verdict is that
of reading everything here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from typing import Any

from doctor.catalogue.rules import load_rules
from doctor.cluster.log_task import SIGNATURES, unpacked
from doctor.cluster.ray_child import RayRefused, Request, answers
from doctor.logs.match.literal_engines import SHAPES
from doctor.logs.match.matcher import RawHits
from doctor.logs.match.signatures import to_json
from doctor.logs.read import parallel
from doctor.logs.read.dividing import here
from doctor.logs.read.log import Item, LogReading, Reader
from doctor.logs.read.parallel import FileRange
from doctor.readers.patient.carry import rule_modules

#: what is imported only when it is needed is named here
_MODULES = (
    "doctor.logs.read.log", "doctor.logs.match.signatures", "doctor.logs.match.shapes", "doctor.logs.metrics.batches",
)  # fmt: skip
#: logs that one task reads: enough to be worth a task, few enough that a lost one is soon done again
BATCH_BYTES, BATCH_FILES = 8 << 20, 16
#: how long a task may take: to start a worker, and for each MB at a tenth of the usual speed
_START_S, _S_PER_MB = 120.0, 5.0
_MOST_TOLD = 4  # nodes with difficulties


class RayLogs:
    """Does the work of `doctor.logs.read.dividing` on the nodes of a cluster.

    Args:
        address: of the cluster, "auto" to find it.
        python: an interpreter that has Ray.
        environ: variables of the driver; None: this process's own.

    Attributes:
        notes: sentences on what was read where, and why something was read here.

    """

    def __init__(self, address: str, python: str, environ: Mapping[str, str] | None = None) -> None:
        self.notes: list[str] = []
        self._address, self._python, self._environ = address, python, environ
        self._names: dict[str, str] = {}  # node -> its name
        self._counts: Counter[str] = Counter()
        self._refused: dict[str, str] = {}  # node -> why it reads nothing

    def __call__(self, reader: Reader, items: Sequence[Item]) -> Iterator[Any]:
        """Results in the order of the items.

        Raises:
            RayRefused: there is no such cluster.

        """
        if any(not each.__module__.startswith("doctor.") for each in load_rules()):
            self.notes.append("rules of other packages are not on the nodes: everything is read here")
            yield from here(reader, items, parallel.cores())
            return
        kept: dict[int, Any] = {}
        position = 0
        for number, result in self._from_nodes(reader, items):
            kept[number] = result
            while position in kept:
                yield kept.pop(position)
                position += 1
        left = [number for number in range(position, len(items)) if number not in kept]
        self._tell(len(items), len(left))
        redone = iter(here(reader, [items[number] for number in left], parallel.cores()))
        for number in range(position, len(items)):
            yield kept.pop(number) if number in kept else next(redone)

    def _from_nodes(self, reader: Reader, items: Sequence[Item]) -> Iterator[tuple[int, Any]]:
        """(position, result) of what nodes have read, in the order in which it comes."""
        files = [_file(item) for item in items]
        batches = _batches(items, [each[1] if each else None for each in files])
        if not batches:
            return
        asked = self._request(reader, [[_asked(items[number], files[number]) for number in batch] for batch in batches])
        connected = False
        try:
            for line in answers(asked, self._python, self._environ):
                connected = True
                if line["kind"] == "nodes":
                    self._names = {each["id"]: each["name"] or each["address"] for each in line["nodes"]}
                elif line["kind"] == "answer":
                    yield from self._taken(line, batches, reader)
        except RayRefused as exc:
            if not connected:
                raise
            self.notes.append(f"the cluster was lost ({exc})")

    def _request(self, reader: Reader, batches: list[list[dict[str, Any]]]) -> Request:
        most = max(sum(each["bytes"] for each in batch) for batch in batches) / 1e6
        total = sum(each["bytes"] for batch in batches for each in batch) / 1e6
        return Request(
            self._address, "doctor.cluster.log_task:read",
            {"settings": asdict(reader.settings), "every_metric": reader.scanner.every_metric}, over="items",
            items=tuple(batches), timeout_s=_START_S + _S_PER_MB * most, deadline_s=_START_S + _S_PER_MB * total,
            modules=(*_MODULES, *rule_modules()), files={SIGNATURES: to_json(reader.scanner.signatures)},
        )  # fmt: skip

    def _taken(
        self, line: Mapping[str, Any], batches: Sequence[Sequence[int]], reader: Reader
    ) -> Iterator[tuple[int, Any]]:
        """Results of one batch; what is None lies elsewhere or could not be read there."""
        node = line["node"] or ""
        if line["state"] != "ok":
            self._refused[node] = f"{line['state']}: {line['reason']}"
            return
        value = line["value"]
        if "unfit" in value:
            self._refused[node] = f"its {value['unfit']} is older than 3.10, which reading logs requires"
            return
        if value["absent"] or value["other"]:
            self._refused[node] = f"{value['absent']} files do not lie there, {value['other']} are not the same"
        elif value["engine"] == SHAPES:
            self._refused[node] = "it has neither `hyperscan` nor `ahocorasick_rs`, and reads slowly"
        for number, result in zip(batches[line["item"]], unpacked(value["results"]), strict=True):
            if result is not None and not _failed(result):
                self._counts[node] += 1
                yield number, _settled(result, reader)

    def _tell(self, total: int, left: int) -> None:
        """Sentences on who has read what."""
        if self._counts:
            nodes = len(self._counts)
            self.notes.append(f"{total - left} of {total} logs were read on {nodes} node{'s' if nodes > 1 else ''}")
        for node, reason in list(self._refused.items())[:_MOST_TOLD]:
            name = self._names.get(node, node)
            self.notes.append(f"{name} {node[:8]}: {reason}" if name else reason)
        if len(self._refused) > _MOST_TOLD:
            self.notes.append(f"{len(self._refused) - _MOST_TOLD} more nodes had difficulties")
        if left:
            self.notes.append(f"{left} of {total} logs were read here instead")


def _file(item: Item) -> list[Any] | None:
    """[path, bytes, time of change] of the file that is asked for; None where there is none to describe."""
    path = _path(item)
    try:
        status = os.stat(path)  # noqa: PTH116 - of thousands
    except OSError:
        return None
    return [path, status.st_size, status.st_mtime_ns] if os.path.isfile(path) else None  # noqa: PTH113


def _path(item: Item) -> str:
    """Where an item lies, from everywhere; a file that was read already lies nowhere."""
    path = item.path if isinstance(item, FileRange) else item[0].path if isinstance(item, tuple) else ""
    return os.path.abspath(path) if path else ""  # noqa: PTH100


def _asked(item: Item, file: list[Any] | None) -> dict[str, Any]:
    """An item as JSON, see `doctor.cluster.log_task`."""
    assert file is not None  # noqa: S101 - only such items are in batches
    if isinstance(item, FileRange):
        end = file[1] if item.end is None else item.end
        return {"file": file, "range": [item.start, end], "bytes": end - item.start}
    names = [astuple(source) for source in item] if isinstance(item, tuple) else []
    return {"file": file, "names": names, "bytes": file[1]}


def _batches(items: Sequence[Item], sizes: Sequence[int | None]) -> list[list[int]]:
    """Positions of items that one task does."""
    batches: list[list[int]] = []
    room = 0
    for number, (item, whole) in enumerate(zip(items, sizes, strict=True)):
        if whole is None:
            continue
        size = (item.end or whole) - item.start if isinstance(item, FileRange) else whole
        if not batches or size > room or len(batches[-1]) >= BATCH_FILES:
            batches.append([])
            room = BATCH_BYTES
        batches[-1].append(number)
        room -= size
    return batches


def _failed(result: RawHits | list[LogReading]) -> bool:
    """Whether a node could not read it: perhaps it lacks what unpacks it, which is here."""
    found = [result] if isinstance(result, RawHits) else result
    return any(each.error or each.cut_off for each in found)


def _settled(result: RawHits | list[LogReading], reader: Reader) -> Any:
    """A result whose metric lines lie in a file where they are many, as if it had been made here."""
    if isinstance(result, RawHits):
        result.collected = {
            name: [each.spooled(reader.scanner.folder) for each in found] for name, found in result.collected.items()
        }
    else:
        for reading in result:
            reading.told = tuple(each.spooled(reader.scanner.folder) for each in reading.told[0]), reading.told[1]
    return result
