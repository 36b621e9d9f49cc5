"""The nodes side by side as data: groups of nodes that are equal in all that is compared, and what tells them apart.

It is the section `nodes` of a report; `doctor.render.matrix` draws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from doctor.catalogue.nodes.compare import Compared, Value, compare, has_no_gpu
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.nodes.readings import READINGS
from doctor.facts.cluster import Cluster

NOT_SEEN = "?"
_RANGES_SHOWN = 12


def section(cluster: Cluster) -> dict[str, Any]:
    """`nodes` of the report: who was asked, groups of equal nodes (largest first), what tells them apart."""
    rows = [*_kinds(cluster), *_blind(cluster), *compare(cluster, READINGS)]
    different = [row for row in rows if row.differs]
    groups = _groups(cluster, different)
    labels = [_label(number) for number in range(len(groups))]
    return {
        "engine": cluster.engine,
        "expected": cluster.expected,
        "asked": len(cluster.nodes),
        "heard": len(cluster.heard),
        "states": _states(cluster),
        "groups": [
            {"label": label, "count": len(hosts), "names": folded(hosts, _RANGES_SHOWN)}
            for label, (_, hosts) in zip(labels, groups, strict=True)
        ],
        "rows": [
            _row(row, [cells[number] for cells, _ in groups], labels) for number, row in enumerate(different)
        ],
        "alike": [
            {"name": row.name, "area": row.area, "value": row.values[0].text, "unseen": len(row.unseen)}
            for row in rows
            if not row.differs and row.values
        ],
    }  # fmt: skip


def _row(row: Compared, cells: list[str | None], labels: list[str]) -> dict[str, Any]:
    return {
        "name": row.name,
        "area": row.area,
        "majority": row.majority.text if row.majority else None,
        "values": [
            {"text": each.text, "count": len(each.hosts), "names": folded(each.hosts, _RANGES_SHOWN)}
            for each in row.values
        ],
        "unseen": len(row.unseen),
        "cells": dict(zip(labels, cells, strict=True)),
    }


def _groups(cluster: Cluster, rows: list[Compared]) -> list[tuple[tuple[str | None, ...], list[str]]]:
    """(cell of each row, hosts); a cell is None where the row is not compared on the node.

    The largest group comes first, of equal ones that which departs in the fewest rows.
    """
    columns = [_cells(row) for row in rows]
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for node in cluster.heard:
        groups.setdefault(tuple(column.get(node.name) for column in columns), []).append(node.name)
    usual = [row.majority.text if row.majority else None for row in rows]

    def departing(cells: tuple[str | None, ...]) -> int:
        return sum(most is not None and cell != most for cell, most in zip(cells, usual, strict=True))

    return sorted(groups.items(), key=lambda item: (-len(item[1]), departing(item[0]), item[1][0]))


def _cells(row: Compared) -> dict[str, str]:
    cells = dict.fromkeys(row.unseen, NOT_SEEN)
    for value in row.values:
        cells.update(dict.fromkeys(value.hosts, value.text))
    return cells


def _label(number: int) -> str:
    """A to Z, then AA, AB ..."""
    return (chr(64 + number // 26) if number >= 26 else "") + chr(65 + number % 26) if number < 702 else str(number)


def _states(cluster: Cluster) -> list[dict[str, Any]]:
    """Nodes that gave no facts, by state and reason."""
    silent: dict[tuple[str, str], list[str]] = {}
    for node in cluster.nodes:
        if node.state != "ok":
            silent.setdefault((node.state, node.reason), []).append(node.name)
    return [
        {"state": state, "reason": reason, "count": len(hosts), "names": folded(hosts, _RANGES_SHOWN)}
        for (state, reason), hosts in silent.items()
    ]


def _kinds(cluster: Cluster) -> Iterable[Compared]:
    """Nodes with GPUs and nodes without, where there are both: hardware is compared among the former alone."""
    bare = tuple(node.name for node in cluster.heard if has_no_gpu(node))
    if bare and len(bare) < len(cluster.heard):
        others = tuple(node.name for node in cluster.heard if node.name not in set(bare))
        values = sorted((Value("yes", others), Value("no", bare)), key=lambda each: -len(each.hosts))
        yield Compared("has GPUs", "gpu", tuple(values))


def _blind(cluster: Cluster) -> Iterable[Compared]:
    """What most nodes could see of themselves and some could not."""
    counts: dict[str, int] = {}
    for node in cluster.heard:
        for name, state in node.facts.items():
            counts[name] = counts.get(name, 0) + (state.status == "ok")
    common = [name for name, count in counts.items() if 2 * count > len(cluster.heard)]
    hosts: dict[str, list[str]] = {}
    for node in cluster.heard:
        lacking = [name for name in common if node.value(name) is None and not (name == "gpus" and has_no_gpu(node))]
        hosts.setdefault(", ".join(sorted(lacking)) or "-", []).append(node.name)
    values = sorted(hosts.items(), key=lambda item: -len(item[1]))
    yield Compared("could not see", "host", tuple(Value(text, tuple(names)) for text, names in values))
