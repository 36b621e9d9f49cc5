"""A folder of facts files, one a node: read as the `Cluster` that the checks judge.

The files come from `doctor check --collect DIR` on each node, or from `--ray`, which also writes a manifest,
`nodes.json`: the nodes that were asked, those without an answer too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.base.redact import redact
from doctor.cluster.alike import Alike
from doctor.cluster.hostlist import expanded
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.readers.saved import NotFacts, parsed, read_text, write

MANIFEST, SCHEMA = "nodes.json", "doctor-nodes/1"
_STALE_S = 3600
_NANO = 1_000_000_000


@record
class Gathered:
    """The nodes, and a sentence for each file that was left out."""

    cluster: Cluster
    notes: tuple[str, ...] = ()


@record
class _File:
    """One facts file: its head (host, captured_ns, clock), its facts, and its row of the manifest."""

    path: Path
    head: Mapping[str, Any]
    facts: Mapping[str, Observed]
    row: Mapping[str, Any]

    def value(self, fact: str, field: str) -> Any:
        """A field of a fact, None where there is none."""
        state = self.facts.get(fact)
        return getattr(state.value, field, None) if state is not None and state.status == "ok" else None

    @property
    def captured_ns(self) -> int:
        """When it was written."""
        return int(self.head.get("captured_ns") or 0)


def write_manifest(folder: Path, engine: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write which nodes were asked: rows are fields of `ClusterNode` without facts, and `file`, None without an answer.

    Raises:
        OSError: the folder cannot be written.

    """
    write({"schema": SCHEMA, "engine": engine, "nodes": redact(list(rows), homes=False)}, folder / MANIFEST)


def facts_files(sources: Iterable[Path]) -> list[Path] | None:
    """The JSON files of files and folders; None where one is something else, a pasted report."""
    found: list[Path] = []
    for source in sources:
        if source.is_dir():
            found += sorted((each for each in source.glob("*.json") if each.name != MANIFEST), key=str)
        elif source.suffix == ".json":
            found.append(source)
        else:
            return None
    return found


def read(sources: Sequence[Path]) -> Gathered:
    """The nodes of facts files and of folders of them.

    Raises:
        NotFacts: nothing in them is a facts file.
        OSError: a source cannot be read.

    """
    notes: list[str] = []
    manifests = [each for source in sources if source.is_dir() and (each := _manifest(source, notes))]
    rows = [row for _, each in manifests for row in each["nodes"]]
    listed = {folder / row["file"]: row for folder, each in manifests for row in each["nodes"] if row.get("file")}
    files = list(_files(facts_files(sources) or [], listed, notes))
    places = {path: at for at, path in enumerate(listed)}
    files = sorted(_current(files, notes), key=lambda each: places.get(each.path, 0))
    if not files and not rows:
        msg = f"`{sources[0]}` holds no facts file (*.json written by `doctor check --collect` or `--save-facts`)"
        raise NotFacts("; ".join([msg, *notes]))
    nodes = [_node(each) for each in files]
    nodes += [_unheard(row) for row in rows if not row.get("file")]
    expected, missing = (len(rows), []) if manifests else _expected(files)
    engine = manifests[0][1].get("engine", "ray") if manifests else _engine(files)
    return Gathered(Cluster(engine, tuple(_named(sorted([*nodes, *missing], key=_order))), expected), tuple(notes))


def _manifest(folder: Path, notes: list[str]) -> tuple[Path, dict[str, Any]] | None:
    """The manifest of a folder; None where there is none, or none that can be used."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        data = parsed(read_text(path))
        if data["schema"] != SCHEMA:
            notes.append(f"`{path}` has schema `{data['schema']}`; this doctor reads `{SCHEMA}`: left out")
            return None
        data["nodes"] = [_row(row) for row in data["nodes"]]
        data["engine"] = str(data.get("engine", "ray"))
    except (ValueError, KeyError, TypeError, AttributeError, NotFacts, OSError) as exc:
        notes.append(f"`{path}` is damaged ({type(exc).__name__}): left out")
        return None
    return folder, data


_MOST_NODES = 100_000
_TEXTS = ("file", "reason", "address", "engine_id")
_NUMBERS = ("seconds", "clock_offset_s", "clock_error_s")


def _row(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the manifest; what it says in another type than is written is not said.

    Raises:
        KeyError, TypeError: it names no node, or is no row.

    """
    row: dict[str, Any] = {"name": str(raw["name"]), "state": str(raw["state"])}
    row |= {name: raw[name] for name in _TEXTS if isinstance(raw.get(name), str)}
    row |= {name: value for name in _NUMBERS if (value := _number(raw, name)) is not None}
    if isinstance(raw.get("resources"), dict):
        row["resources"] = {
            str(name): each for name, each in raw["resources"].items() if isinstance(each, (int, float))
        }
    return row


def _number(told: object, name: str) -> float | None:
    """A finite number that a mapping holds under a name; None where it holds another thing, or is none."""
    value = told.get(name) if isinstance(told, Mapping) else None
    measured = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if measured else None


def _files(paths: Iterable[Path], listed: Mapping[Path, Mapping[str, Any]], notes: list[str]) -> Iterator[_File]:
    """Read all files with one memory, so that equal facts become one object."""
    alike = Alike()
    with_manifest = {path.parent for path in listed}
    for path in paths:
        if path.parent in with_manifest and path not in listed:
            notes.append(f"`{path}` is not of the last gathering, which `{MANIFEST}` lists: left out")
            continue
        try:
            head, facts = alike.read(read_text(path), path)
        except NotFacts as exc:
            notes.append(f"{exc}: left out")
        except OSError as exc:
            notes.append(f"`{path}` cannot be read ({exc.strerror}): left out")
        else:
            yield _File(path, head, facts, listed.get(path, {}))


def _current(files: list[_File], notes: list[str]) -> Iterator[_File]:
    """Files of this gathering: none much older than the newest, and of one node in two jobs the later."""
    newest = max((each.captured_ns for each in files), default=0)
    latest: dict[tuple[Any, ...], _File] = {}
    for each in files:
        key = _whose(each)
        if key not in latest or latest[key].captured_ns <= each.captured_ns:
            latest[key] = each
    for each in files:
        age_s = (newest - each.captured_ns) / _NANO
        if age_s > _STALE_S:
            notes.append(f"`{each.path}` is {_hours(age_s)} older than the newest file: left out")
        elif each.value("node", "job") != (latest[_whose(each)]).value("node", "job"):
            notes.append(f"`{each.path}` is of an earlier job on the same node: left out")
        else:
            yield each


def _whose(file: _File) -> tuple[Any, ...]:
    """Of which machine a file is; each of those that do not tell is one of its own."""
    boot = file.value("node", "boot_id")
    return (file.head.get("host"), boot) if boot else (file.path,)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds < 86400 else f"{seconds / 86400:.1f} days"


# Nodes -----------------------------------------------------------------------------------------------------------


def _node(file: _File) -> ClusterNode:
    clock, row = file.head.get("clock"), file.row
    return ClusterNode(
        name=str(row.get("name") or file.head.get("host") or file.path.stem),
        facts=file.facts,
        address=row.get("address"),
        engine_id=row.get("engine_id"),
        rank=file.value("node", "rank"),
        seconds=row.get("seconds"),
        clock_offset_s=row.get("clock_offset_s", _number(clock, "offset_s")),
        clock_error_s=row.get("clock_error_s", _number(clock, "error_s")),
        resources=row.get("resources") or {},
    )


def _unheard(row: Mapping[str, Any]) -> ClusterNode:
    """A node of the manifest that gave no facts."""
    return ClusterNode(
        name=row["name"],
        state=row["state"],
        reason=row.get("reason", ""),
        address=row.get("address"),
        engine_id=row.get("engine_id"),
        seconds=row.get("seconds"),
        resources=row.get("resources") or {},
    )


def _named(nodes: Iterable[ClusterNode]) -> Iterator[ClusterNode]:
    """Nodes with names of their own: the second "host" is "host-2"."""
    from doctor.base.record import replace

    taken: set[str] = set()
    for node in nodes:
        name, number = node.name, 2
        while name in taken:
            name, number = f"{node.name}-{number}", number + 1
        taken.add(name)
        yield node if name == node.name else replace(node, name=name)


def _order(node: ClusterNode) -> tuple[Any, ...]:
    """By rank, then by name with its numbers as numbers."""
    parts = [(part, part.lstrip("0")) for part in re.split(r"(\d+)", node.name)]
    digits = [(len(bare), bare) if part.isdigit() else (-1, "") for part, bare in parts]  # thousands are no number
    return (node.rank is None, node.rank or 0, [(*each, part) for each, (part, _) in zip(digits, parts, strict=True)])


# Who is missing --------------------------------------------------------------------------------------------------


def _engine(files: list[_File]) -> str:
    """Who started the collecting processes, as they tell alike."""
    launchers = {each.value("node", "launcher") for each in files}
    only = launchers.pop() if len(launchers) == 1 else None
    return only or "folder"


def _expected(files: list[_File]) -> tuple[int | None, list[ClusterNode]]:
    """How many nodes their launcher names, and those of them that left no file."""
    named = next((text for each in files if (text := each.value("node", "node_names"))), "")
    names = expanded(named)
    if names:
        return len(names), _absent_names(files, names)
    count = max((each.value("node", "nodes") or 0 for each in files), default=0)
    count = count or max((each.value("world", "machines") or 0 for each in files), default=0)
    if not 2 <= count <= _MOST_NODES:  # no launcher starts more: the figure is damaged
        return None, []
    return count, _absent_ranks(files, count)


def _absent_names(files: list[_File], names: tuple[str, ...]) -> list[ClusterNode]:
    """Hosts of Slurm's list without a file, by Slurm's own name for a node or the host's, without its domain."""
    heard = {_short(each.head.get("host")) for each in files}
    heard |= {_short((each.value("environment", "variables") or {}).get("SLURMD_NODENAME")) for each in files}
    absent = [name for name in names if _short(name) not in heard]
    if len(absent) == len(names):  # the list has other names than the hosts: only their number can be compared
        return _absent_ranks(files, len(names))
    return [_missing(name) for name in absent]


def _short(name: str | None) -> str:
    return (name or "").partition(".")[0].lower()


def _absent_ranks(files: list[_File], count: int) -> list[ClusterNode]:
    """Nodes that are not there: by rank where all tell theirs, else only so many."""
    ranks = {each.value("node", "rank") for each in files}
    if None not in ranks and len(ranks) == len(files):
        return [_missing(f"rank{rank}", rank) for rank in range(count) if rank not in ranks]
    return [_missing(f"unknown {number}") for number in range(1, count - len(files) + 1)]


def _missing(name: str, rank: int | None = None) -> ClusterNode:
    return ClusterNode(name, "missing", "its launcher names it, and it left no file", rank=rank)
