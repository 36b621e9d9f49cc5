"""Puts the sampler's last rows to the finding of a process that SIGKILL ended: it could leave no word of its own.

What is read are `host/<host>-processes.csv` and `host/<host>.csv` of the run folder, whose columns
`doctor/monitors/sampler/columns.py` lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from doctor.base.evidence import Observed
from doctor.base.record import record, replace
from doctor.catalogue.finding import Finding
from doctor.logs.failures.case import Case
from doctor.logs.lines.exits import Exit

_PROCESSES = "-processes.csv"
#: of a file's end: minutes of a machine with many processes, and all of a short run
_TAIL_BYTES = 4 << 20
#: the slope of a process's memory is taken over so long, and not over less
_OVER_S, _LEAST_S = 10.0, 1.5
_MIB_IN_GIB = 1024.0
#: a slower growth than this is none, in GiB a second
_FLAT = 0.005

Row = Mapping[str, str]


@record
class _Last:
    """The last rows of one process, oldest first, and the file that they stand in."""

    path: Path
    rows: tuple[Row, ...]


def told(findings: Sequence[Finding], case: Case, paths: Iterable[str]) -> tuple[Finding, ...]:
    """The findings, the first with what the killed process held last, where it speaks of a SIGKILL.

    Args:
        findings: as ranked.
        case: what the logs say.
        paths: run folders among them hold the samples.

    """
    end = _killed(findings[0], case) if findings else None
    last = _last_of(end, paths) if end is not None else None
    if end is None or last is None:
        return tuple(findings)
    first = findings[0]
    return (
        replace(first, evidence=(*first.evidence, Observed.quoted(str(last.path), _worded(last, end)))),
        *findings[1:],
    )


def _killed(finding: Finding, case: Case) -> Exit | None:
    """The end by SIGKILL that a finding rests on, one that names its process first."""
    quoted = {(each.origin.source, each.origin.line) for each in finding.evidence}
    quoted.add((finding.where.file or "", finding.where.line))
    ends = (each for each in case.exits if each.signal == "SIGKILL" and not each.by_launcher)
    quoted_ones = [each for each in ends if (each.line.file, each.line.number) in quoted]
    return min(quoted_ones, key=lambda each: each.pid is None and each.rank is None, default=None)


def _last_of(end: Exit, paths: Iterable[str]) -> _Last | None:
    """Of the process that ended so; where nothing names it, of the largest one. None where several may be meant."""
    found = [last for path in paths for last in _processes(Path(path) / "host")]
    if end.pid is not None:
        meant = [each for each in found if each.rows[-1].get("pid") == str(end.pid)]  # of one machine, of several
        return meant[0] if len(meant) == 1 else None
    if end.rank is not None:
        meant = [each for each in found if each.rows[-1].get("rank") == str(end.rank)]
        meant = [each for each in meant if each.rows[-1].get("role") == "trainer"]
        return meant[0] if len(meant) == 1 else None
    return max(found, key=lambda each: _number(each.rows[-1], "memory_mib"), default=None)


def _processes(folder: Path) -> Iterator[_Last]:
    """The last rows of each process that the samplers of a run saw."""
    for path in sorted(folder.glob(f"*{_PROCESSES}")) if folder.is_dir() else ():
        rows: dict[str, list[Row]] = {}
        for row in _tail(path):
            if row.get("pid") and _number(row, "memory_mib") and _number(row, "mono_s"):
                rows.setdefault(row["pid"], []).append(row)
        yield from (_Last(path, tuple(each)) for each in rows.values())


def _tail(path: Path) -> list[Row]:
    """The last rows of one of the sampler's files; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            head = next((each for each in file if not each.startswith(b"#")), b"")
            begin = max(file.tell(), path.stat().st_size - _TAIL_BYTES)
            cut = begin > file.tell()
            file.seek(begin)
            lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    names = head.decode("utf-8", "replace").strip().split(",")
    cells = (each.split(",") for each in lines[1 if cut else 0 :])  # the sampler writes no comma into a cell
    return [dict(zip(names, each, strict=True)) for each in cells if len(each) == len(names)]


def _number(row: Row, name: str) -> float:
    try:
        return float(row.get(name) or 0)
    except ValueError:
        return 0.0


def _worded(last: _Last, end: Exit) -> str:
    """One line: who, how much it held, how fast that grew, and what the machine had left."""
    row = last.rows[-1]
    who = f"rank {row['rank']} (pid {row['pid']})" if row.get("rank") else f"pid {row['pid']} ({row.get('name')})"
    if end.pid is None and end.rank is None:
        who = f"the largest process of the run, {who},"
    held = f"{who} held {_number(row, 'memory_mib') / _MIB_IN_GIB:.2f} GiB at {row.get('time')}"
    grown = _slope(last.rows)
    if grown is not None:
        held += f", growing {grown:.2f} GiB/s" if grown > _FLAT else ", not growing"
    host = last.path.with_name(last.path.name.removesuffix(_PROCESSES) + ".csv")
    at = _number(row, "mono_s")
    beside = [each for each in _tail(host) if _number(each, "mono_s") <= at + 1 and _number(each, "memory_total_mib")]
    if not beside:
        return held
    total, used = (_number(beside[-1], name) / _MIB_IN_GIB for name in ("memory_total_mib", "memory_used_mib"))
    return f"{held}; {total - used:.1f} of {total:.1f} GiB of the machine's memory were free"


def _slope(rows: Sequence[Row]) -> float | None:
    """Growth of the memory over the last seconds, in GiB a second; None where there are too few."""
    end = _number(rows[-1], "mono_s")
    near = [each for each in rows if end - _number(each, "mono_s") <= _OVER_S]
    seconds = end - _number(near[0], "mono_s")
    if seconds < _LEAST_S:
        return None
    return (_number(near[-1], "memory_mib") - _number(near[0], "memory_mib")) / _MIB_IN_GIB / seconds
