"""Reads the dumps of torch's flight recorder: who waits in which collective, and for whom.

Every rank writes one file, named by `TORCH_NCCL_DEBUG_INFO_TEMP_FILE` (`TORCH_FR_DUMP_TEMP_FILE` in newer torch) and
its rank at the end: ``/tmp/nccl_trace_rank_3``. It is a pickle of dicts, lists, tuples, strings and numbers; nothing
else in it is read, for a pickle may hold calls of any function.

Format: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/FlightRecorder.hpp (keys and states),
https://github.com/pytorch/pytorch/tree/main/torch/distributed/flight_recorder (what reads it in torch).
"""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from doctor.base.evidence import Observed
from doctor.base.own_frames import is_own
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import catalogue_roots, load
from doctor.catalogue.problem_files import function_of
from doctor.catalogue.stuck_collective import StuckCollective

MOST_BYTES = 64 << 20  # of one dump; torch keeps 2000 entries by default, some megabytes
MOST_FILES = 512
_LONGEST_NUMBER_BITS = 128
MOST_S = 60.0  # for all dumps together
#: a dump of a run in good health shows ranks a few collectives apart, for a moment; a standstill lasts longer
LEAST_WAIT_S = 10.0
_NAME = later(r"^(?P<prefix>.*?\D)(?P<rank>\d{1,6})$")
_START = later(rb"\x80[\x02-\x05](?:\x95.{8})?[}\x94]", re.DOTALL)
_AREA = "nccl"
#: of these every rank gives as many elements; others may be uneven
_EVEN = frozenset({"all_reduce", "broadcast", "reduce", "_all_gather_base", "_reduce_scatter_base"})
_LIBRARY = later(r"[\\/](?:site|dist)-packages[\\/]|[\\/]torch[\\/](?:distributed|nn|autograd|utils)[\\/]|^<")

_HARMLESS = (
    pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.POP, pickle.POP_MARK, pickle.NONE, pickle.NEWTRUE,
    pickle.NEWFALSE, pickle.INT, pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG, pickle.LONG1,
    pickle.FLOAT, pickle.BINFLOAT, pickle.UNICODE, pickle.BINUNICODE, pickle.SHORT_BINUNICODE, pickle.BINUNICODE8,
    pickle.EMPTY_DICT, pickle.DICT, pickle.SETITEM, pickle.SETITEMS, pickle.EMPTY_LIST, pickle.LIST, pickle.APPEND,
    pickle.APPENDS, pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.PUT,
    pickle.BINPUT, pickle.LONG_BINPUT, pickle.MEMOIZE, pickle.GET, pickle.BINGET, pickle.LONG_BINGET,
)  # fmt: skip

_CONTAINERS = frozenset({pickle.EMPTY_DICT, pickle.DICT, pickle.EMPTY_LIST, pickle.LIST, pickle.TUPLE, pickle.MARK})
_MEMO = frozenset({pickle.PUT, pickle.BINPUT, pickle.LONG_BINPUT, pickle.MEMOIZE})
#: what an instruction may cost at most: a dict of one item, an entry of the memo, a value with its place in a list
_CONTAINER_BYTES, _MEMO_BYTES, _VALUE_BYTES = 240, 110, 48
MOST_BUILT_BYTES = 256 << 20


class NotADump(Exception):  # noqa: N818 - the file is at fault
    """A file is no dump of the flight recorder, or one that holds more than data."""


class _DataOnly(pickle._Unpickler):  # noqa: SLF001 - the C one obeys no table
    """Knows containers and numbers alone: everything that names or calls something ends the reading.

    What is built is charged as it grows, for one byte of a pickle can make a dict or an entry of its memo.
    """

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {}

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.left = MOST_BUILT_BYTES

    def find_class(self, module: str, name: str) -> Any:
        raise NotADump(f"it names {module}.{name}")


def _charged(step: Callable[[Any], None], cost_bytes: int) -> Callable[[Any], None]:
    """The step of the unpickler, after its cost was taken off what may be built."""

    def charged(reader: Any) -> None:
        reader.left -= cost_bytes
        if reader.left < 0:
            raise NotADump(f"it holds more than the {MOST_BUILT_BYTES >> 20} MiB of values that are read of one dump")
        step(reader)

    return charged


def _with_plain_keys(step: Callable[[Any], None], keys_of: Callable[[Any], Iterable[Any]]) -> Callable[[Any], None]:
    """The step, for plain keys alone: Python hashes a nested tuple without end, and without regard to its stack."""

    def checked(reader: Any) -> None:
        if not all(each is None or isinstance(each, (str, int, float)) for each in keys_of(reader)):
            raise NotADump("a key in it is neither a string nor a number")
        step(reader)

    return checked


def _steps() -> Iterator[tuple[int, Callable[[Any], None]]]:
    """What each harmless instruction does here."""
    keys = {
        pickle.SETITEM: lambda reader: reader.stack[-2:-1],
        pickle.SETITEMS: lambda reader: reader.stack[::2],
        pickle.DICT: lambda reader: reader.stack[::2],
    }
    for code in _HARMLESS:
        step = pickle._Unpickler.dispatch[code[0]]  # type: ignore[attr-defined,unused-ignore]  # noqa: SLF001
        if code in keys:
            step = _with_plain_keys(step, keys[code])
        cost = _CONTAINER_BYTES if code in _CONTAINERS else _MEMO_BYTES if code in _MEMO else _VALUE_BYTES
        yield code[0], _charged(step, cost)


_DataOnly.dispatch = dict(_steps())


def unpickled(data: bytes) -> Any:
    """The value of a pickle of containers, strings and numbers.

    Raises:
        NotADump: it is torn, damaged, or holds anything else.

    """
    try:
        return _DataOnly(io.BytesIO(data)).load()
    except NotADump:
        raise
    except Exception as error:  # noqa: BLE001 - what a damaged pickle raises has no end
        raise NotADump(f"it cannot be read as plain data: {type(error).__name__}") from None


@dataclass(frozen=True)
class RecordedCollective:
    """One collective as one rank recorded it; `done`: the watchdog saw its end."""

    number: int
    operation: str
    inputs: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    done: bool
    created_ns: int
    place: str

    @property
    def elements(self) -> int:
        """Elements that the rank gave."""
        return sum(math.prod(each) for each in self.inputs)

    def shown(self) -> str:
        """``all_reduce [7, 5] Float``."""
        sizes = " ".join(str(list(each)) for each in self.inputs[:3])
        return " ".join(part for part in (self.operation, sizes, ", ".join(self.dtypes[:3])) if part)


@dataclass
class RankDump:
    """What one rank recorded.

    Args:
        rank, path, written_ns: whose it is, the file, and when that was written.
        groups: entries by number of its process groups, which go by name, description and ranks where told.
        last: number of the last collective it entered in each group.
        enqueued: the same as the recorder's own status tells it, by the group's name.

    """

    rank: int
    path: str
    written_ns: int
    groups: dict[tuple[str, str, str], dict[int, RecordedCollective]] = field(default_factory=dict)
    last: dict[tuple[str, str, str], int] = field(default_factory=dict)
    enqueued: dict[str, int] = field(default_factory=dict)


def is_dump(path: Path) -> bool:
    """Whether a file is one rank's dump, by its name and first bytes."""
    if not _NAME.match(path.name):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return bool(_START.match(head)) and (b"entries" in head or b"pg_config" in head or b"version" in head)


@record
class Recorded:
    """What dumps show.

    Args:
        findings: the first standstill of each group of files, none where all ranks agree.
        read: how many dumps could be read; `unread`: a sentence on each that could not.

    """

    findings: tuple[Finding, ...] = ()
    read: int = 0
    unread: tuple[str, ...] = ()


def examine(*paths: str | os.PathLike[str]) -> Recorded:
    """Read the dumps at some paths and judge them.

    A path is a dump, then those of the other ranks beside it are read too, or a folder of dumps.
    """
    unread: list[str] = []
    findings: list[Finding] = []
    count = 0
    for files in _runs(paths):
        dumps = _dumps(files, unread)
        count += len(dumps)
        findings += (finding for each in _first(standstills_of(dumps)) for finding in _judged(each))
    return Recorded(tuple(findings), count, tuple(unread))


def read(*paths: str | os.PathLike[str]) -> tuple[Finding, ...]:
    """What the dumps at some paths show, see `examine`."""
    return examine(*paths).findings


def _judged(standstill: StuckCollective) -> Iterator[Finding]:
    """Ask the problems of the area that know about collectives."""
    for entry in load(catalogue_roots()):
        if entry.area == _AREA:
            judge = function_of(entry, "of_standstill")
            if judge is not None:
                yield judge(standstill)


def _first(standstills: Iterable[StuckCollective]) -> Iterator[StuckCollective]:
    """The one to tell: ranks that disagree explain a group better than ranks that wait."""
    told = sorted(standstills, key=lambda each: (not each.differs, len(each.unseen), each.group))
    yield from told[:1]


def _runs(paths: Iterable[str | os.PathLike[str]]) -> list[list[Path]]:
    """Dumps of the ranks of one run together: one folder, one prefix."""
    runs: dict[tuple[Path, str], dict[int, Path]] = {}
    for path in map(Path, paths):
        folder = path if path.is_dir() else path.parent
        wanted = "" if path.is_dir() else path.name.rstrip("0123456789")
        try:
            found = sorted(folder.iterdir())
        except OSError:
            continue
        for each in found:
            match = _NAME.match(each.name)
            if match and each.is_file() and match["prefix"].startswith(wanted) and is_dump(each):
                runs.setdefault((folder, match["prefix"]), {})[int(match["rank"])] = each
    return [[files[rank] for rank in sorted(files)][:MOST_FILES] for files in runs.values()]


def _dumps(files: Sequence[Path], unread: list[str]) -> list[RankDump]:
    """Every dump that can be read, within a time; `unread` takes down why the others are not."""
    until = time.monotonic() + MOST_S
    dumps = []
    for number, path in enumerate(files):
        if time.monotonic() > until:
            unread.append(
                f"`{path}` and {len(files) - number - 1} dumps after it: reading took more than {MOST_S:.0f} s"
            )
            break
        try:
            status = path.stat()
            if status.st_size > MOST_BYTES:
                unread.append(f"`{path}` is larger than the {MOST_BYTES >> 20} MiB that are read of one dump")
                continue
            dumps.append(parsed(path.read_bytes(), path, status.st_mtime_ns))
        except OSError as error:
            unread.append(f"`{path}` cannot be read: {error.strerror or error}")
        except NotADump as error:
            unread.append(f"`{path}` is not a readable dump of the flight recorder: {error}")
    return dumps


def parsed(data: bytes, path: Path, written_ns: int) -> RankDump:
    """One rank's dump.

    Raises:
        NotADump: it is none.

    """
    match, whole = _NAME.match(path.name), unpickled(data)
    if match is None or not isinstance(whole, dict) or not isinstance(whole.get("entries"), (list, tuple)):
        raise NotADump("it lacks the entries of a flight recorder")
    dump = RankDump(int(match["rank"]), str(path), written_ns)
    config = _mapping(whole.get("pg_config"))
    for raw in whole["entries"]:
        row = _mapping(raw)
        group, entry = _group(row.get("process_group"), config), _entry(row)
        if group is not None and entry is not None:
            dump.groups.setdefault(group, {})[entry.number] = entry
    for name, told in _mapping(whole.get("pg_status")).items():
        number = _mapping(told).get("last_enqueued_collective")
        dump.enqueued[_text(name, 120)] = number if isinstance(number, int) else 0
    for group, entries in dump.groups.items():
        dump.last[group] = max([*entries, dump.enqueued.get(group[0], 0)])
    return dump


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _group(told: Any, config: Mapping[Any, Any]) -> tuple[str, str, str] | None:
    """(name, description, ranks as JSON or "") of a process group."""
    if not isinstance(told, (list, tuple)) or len(told) != 2:
        return None
    name, description = _text(told[0], 120), _text(told[1], 120)
    ranks = _mapping(config.get(told[0] if isinstance(told[0], str) else "")).get("ranks")
    return name, description, ranks[:20_000] if isinstance(ranks, str) and ranks != "[]" else ""


def _entry(row: Mapping[Any, Any]) -> RecordedCollective | None:
    """None for what is sent between two ranks, which has numbers of its own, and for what is malformed."""
    number, name = row.get("collective_seq_id"), row.get("profiling_name")
    if row.get("is_p2p") or not isinstance(number, int) or not isinstance(name, str):
        return None
    created = row.get("time_created_ns")
    return RecordedCollective(
        number, name.partition(":")[2][:60] or name[:60], _sizes(row.get("input_sizes")),
        tuple(_text(each, 20) for each in _items(row.get("input_dtypes"))),
        row.get("state") == "completed" or bool(row.get("retired")),
        created if isinstance(created, int) else 0, _place(row.get("frames")),
    )  # fmt: skip


def _text(value: Any, most: int = 4_096) -> str:
    """A string or a number as text; "" for a container, whose text may be endless where it holds itself twice."""
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER_BITS:
        return ""
    return str(value)[:most] if isinstance(value, (int, float)) else ""


def _items(value: Any) -> list[Any]:
    return list(value[:64]) if isinstance(value, (list, tuple)) else []


def _sizes(value: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(number for number in _items(each) if isinstance(number, int)) for each in _items(value))


def _place(frames: Any) -> str:
    """``train.py:12 in step`` of the innermost frame of the user's own code, else of the innermost one."""
    told = [
        (_text(frame.get("filename"))[-200:], _text(frame.get("line"), 20), _text(frame.get("name"), 80))
        for frame in map(_mapping, _items(frames))
        if _text(frame.get("filename")) and not is_own(_text(frame.get("filename")))
    ]  # fmt: skip
    own = [each for each in told if not _LIBRARY.search(each[0])] or told
    return f"{own[0][0]}:{own[0][1]} in {own[0][2]}" if own else ""


def standstills_of(dumps: list[RankDump]) -> Iterator[StuckCollective]:
    """The earliest standstill of every process group."""
    by_group: dict[tuple[str, str, str], dict[int, RankDump]] = defaultdict(dict)
    for dump in dumps:
        for group in dump.groups:
            by_group[group][dump.rank] = dump
    for group, members in by_group.items():
        everyone = _ranks(group[2]) or (frozenset(each.rank for each in dumps) if group[1] == "default_pg" else None)
        for dump in dumps:  # a rank that never called anything in its group
            if dump.rank not in members and dump.rank in (everyone or ()) and dump.enqueued:
                dump.groups[group], dump.last[group] = {}, max(dump.enqueued.get(group[0], 0), 0)
                members[dump.rank] = dump
        found = _disagreement(group, members, certain=bool(everyone))
        found = found or _absence(group, members, everyone or frozenset(members))
        if found is not None:
            yield found


def _ranks(text: str) -> frozenset[int]:
    try:
        return frozenset(each for each in json.loads(text) if isinstance(each, int))
    except (ValueError, TypeError, RecursionError):
        return frozenset()


def _waits(dump: RankDump, entry: RecordedCollective) -> bool:
    """Whether a rank was in a collective for long when it wrote its dump."""
    return not entry.done and dump.written_ns - entry.created_ns >= LEAST_WAIT_S * 1e9


def _absence(
    group: tuple[str, str, str], members: Mapping[int, RankDump], everyone: frozenset[int]
) -> StuckCollective | None:
    """The first collective that some ranks wait in and others never entered."""
    last = {rank: dump.last[group] for rank, dump in members.items()}
    waits = [
        entry.number for dump in members.values() for entry in dump.groups[group].values()
        if _waits(dump, entry) and entry.number > min(last.values())
    ]  # fmt: skip
    if not waits:
        return None
    number = min(waits)
    waiting = sorted(rank for rank, dump in members.items() if number in dump.groups[group])
    absent = sorted(rank for rank, each in last.items() if each < number)
    entry = members[waiting[0]].groups[group][number]
    return StuckCollective(
        _shown(group), number, entry.operation, waiting, absent, sorted(everyone - set(members)),
        {rank: last[rank] for rank in absent}, certain=bool(group[2]), file=members[absent[0]].path,
        evidence=_quoted(group, members, [*absent[:2], *waiting[:1]], number),
    )  # fmt: skip


def _disagreement(
    group: tuple[str, str, str], members: Mapping[int, RankDump], *, certain: bool
) -> StuckCollective | None:
    """The first collective that every rank has in its dump, that a rank waits in, and that they mean differently."""
    if len(members) < 2:
        return None
    common = frozenset.intersection(*(frozenset(dump.groups[group]) for dump in members.values()))
    for number in sorted(common):
        entries = {rank: dump.groups[group][number] for rank, dump in sorted(members.items())}
        differs = _difference(list(entries.values()))
        if differs and any(_waits(members[rank], entry) for rank, entry in entries.items()):
            return StuckCollective(
                _shown(group), number, next(iter(entries.values())).operation, sorted(entries), differs=differs,
                values={rank: entry.shown() for rank, entry in entries.items()}, certain=certain,
                file=next(iter(members.values())).path,
                evidence=_quoted(group, members, _odd(entries), number),
            )  # fmt: skip
    return None


def _difference(entries: list[RecordedCollective]) -> str:
    first = entries[0]
    if any(each.operation != first.operation for each in entries):
        return "operation"
    if first.operation not in _EVEN:
        return ""
    if any(each.elements != first.elements for each in entries):
        return "shape"
    return "dtype" if any(each.dtypes != first.dtypes for each in entries) else ""


def _odd(entries: Mapping[int, RecordedCollective]) -> list[int]:
    """One rank for each of the first ways in which the collective was called, the rarest first."""
    ways: dict[str, list[int]] = {}
    for rank, entry in entries.items():
        ways.setdefault(entry.shown(), []).append(rank)
    return [ranks[0] for ranks in sorted(ways.values(), key=len)][:3]


def _shown(group: tuple[str, str, str]) -> str:
    return group[1] if group[1] not in ("", "undefined") else group[0]


def _quoted(
    group: tuple[str, str, str], members: Mapping[int, RankDump], ranks: Iterable[int], number: int
) -> tuple[Observed, ...]:
    """The collective of each rank, or the last one before it that the rank entered."""
    out = []
    for rank in ranks:
        dump = members[rank]
        before = [each for each in dump.groups[group] if each <= number]
        if before:
            entry = dump.groups[group][max(before)]
            place = f" at {entry.place}" if entry.place else ""
            state = "done" if entry.done else "not done"
            out.append(
                Observed.quoted(dump.path, f"rank {rank}: collective {entry.number}: {entry.shown()}, {state}{place}")
            )
    return tuple(out)
