"""The doctor's GPU files in parts that fit into memory, and what of their cells can be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from doctor.readers.machine.gpu_queries import REASONS
from doctor.run.appender import TORN

#: figures that the report uses, no others are read; `throttle` are the bits of throttle_reasons
FIGURES = (
    "sm_active_pct", "tensor_active_pct", "dram_active_pct", "sm_window_s", "gpu_busy_pct", "memory_used_mib",
    "power_w", "power_limit_w", "temperature_c", "sm_clock_mhz", "pcie_width", "pcie_width_max", "ecc_uncorrected",
)  # fmt: skip

_BLOCK = 16 << 20
_TORN_LINE = re.compile(rb"[^\n]*" + re.escape(TORN) + rb"\n")
_FLOAT = re.compile(rb"[-+]?\d{1,30}(?:\.\d{0,30})?(?:[eE][-+]?\d{1,2})?|nan")
_LONGEST_HEADER = 1 << 16
_BITS = {name: bit for bit, name in REASONS}


class NotUsage(Exception):  # noqa: N818 - the user's file is at fault, the message says how
    """A file or folder holds no figures; the message names it."""


def is_regular(rows: bytes, columns: int) -> bool:
    """Whether all lines together have the commas of whole rows, and nothing that no row of ours has."""
    return rows.count(b",") == (columns - 1) * rows.count(b"\n") and b"\0" not in rows


def readable(rows: bytes, names: list[str], whole: set[str], numbers: Iterable[str]) -> list[bytes]:
    """The lines that are rows: as many cells as columns, and numbers where numbers belong."""
    checks = [(at, name in whole) for at, name in enumerate(names) if name in whole or name in set(numbers)]
    kept = []
    for raw in rows.split(b"\n"):
        line = raw.rstrip(b"\r")
        cells = line.split(b",")
        if len(cells) != len(names) or b"\0" in line or b"\r" in line:
            continue
        if all(is_number(cells[at], whole=strict) for at, strict in checks):
            kept.append(line)
    return kept


def is_number(cell: bytes, *, whole: bool) -> bool:
    """Whether a cell is one; a time or an index is whole, fits into its column, and is never empty."""
    if whole:
        return cell.isdigit() and len(cell) < 20 and int(cell) < 1 << (31 if len(cell) < 11 else 63)
    return not cell or _FLOAT.fullmatch(cell) is not None


def blocks(paths: Iterable[Path]) -> Iterator[tuple[list[str], bytes]]:
    """(columns, whole lines): a large file in parts, small ones together, for each part costs as much as many rows."""
    names: list[str] = []
    held: list[bytes] = []
    for path in paths:
        with path.open("rb") as file:
            own = _header(file, path)
            while block := file.read(_BLOCK):
                rows = _whole(b"".join((block, file.readline(_BLOCK))))
                if held and (own != names or sum(map(len, held)) + len(rows) > _BLOCK):
                    yield names, b"".join(held)
                    held = []
                if rows:
                    names = own
                    held.append(rows)
    if held:
        yield names, b"".join(held)


def _whole(lines: bytes) -> bytes:
    """Without torn lines, and without the one that is being written; nothing where there is no row."""
    if b"#" in lines and TORN in lines:  # one byte is looked for ten times faster than five
        lines = _TORN_LINE.sub(b"", lines)
    if not lines.endswith(b"\n"):
        lines = lines[: lines.rfind(b"\n") + 1]
    return b"" if lines.isspace() else lines


def _header(file: Any, path: Path) -> list[str]:
    while line := file.readline(_LONGEST_HEADER):
        if not line.startswith(b"#"):
            names: list[str] = line.decode("utf-8", "replace").strip().split(",")
            if {"t_ns", "gpu"} <= set(names):
                return names
            break
    raise NotUsage(f"{path} is not a GPU file of the doctor")


def bits(reasons: str) -> float:
    """Names of throttle reasons, `|` between them, as NVML's bits."""
    return float(sum(_BITS.get(name, 0) for name in reasons.split("|")))


def left_out(lost: int) -> str:
    """The note on lines that could not be read."""
    return f"{lost:,} line{'' if lost == 1 else 's'} could not be read as rows and were left out"
