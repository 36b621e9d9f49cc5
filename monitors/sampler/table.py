"""Writes one of the monitor's CSV files: comment lines and header once, then rows."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from doctor.monitors.sampler.clock import Now, iso
from doctor.run.appender import Appender
from doctor.run.folder import cell, host_name

Row = Mapping[str, Any]


class RowFile:
    """Rows of one file, each call of `write` one write to the file.

    Args:
        path: the file.
        columns: in order; the first four are time, t_ns, mono_s and host.
        notes: lines for the head of the file, without the leading #.
        anew: as of `Appender`: False for what lies in a run folder, which may have been removed.

    """

    def __init__(self, path: Path, columns: Iterable[str], notes: Iterable[str], *, anew: bool = True) -> None:
        self._file = Appender(path, anew=anew)
        self._host = host_name()
        own = list(columns)[4:]
        self._blank = [""] * len(own)
        self._at = {name: number for number, name in enumerate(own)}
        self._head = "".join(f"# {note}\n" for note in notes) + ",".join(columns) + "\n"
        self._headed = not self._file.empty
        self.full = False  # whether the last rows could not be written

    @property
    def lost(self) -> int:
        """Rows that could not be written."""
        return self._file.lost

    @property
    def error(self) -> str:
        """Why the last of them could not, in the system's words."""
        return os.strerror(self._file.error or errno.ENOSPC)  # a part of a row was taken: there is no more room

    def write(self, rows: Iterable[tuple[Now, Row]]) -> None:
        """Append rows; a disk without room costs them and nothing else."""
        self.append("".join([self.line(at, row) for at, row in rows]))

    def append(self, text: str) -> None:
        """Append lines as `line` or `stamp` and a form make them, in one write."""
        if not text:
            return
        if not self._headed:
            text = self._head + text
        done = self._file.write(text)
        self._headed = self._headed or done
        self.full = not done

    def line(self, at: Now, row: Row) -> str:
        """One row."""
        return self.told(at, {name: cell(value) for name, value in row.items() if value is not None})

    def told(self, at: Now, cells: Mapping[str, str]) -> str:
        """One row of cells as they are to be written: without commas and line breaks."""
        row = self._blank.copy()  # most are empty: a row costs what it tells
        for name, text in cells.items():
            row[self._at[name]] = text
        return f"{self.stamp(at)}{','.join(row)}\n"

    def stamp(self, at: Now) -> str:
        """The first four cells of a row."""
        return f"{iso(at.t_ns)},{at.t_ns},{at.mono_s:.6f},{self._host},"

    def stamps(self, at: Now, moments: Iterable[int]) -> list[str]:
        """The first four cells of rows about other moments (nanoseconds since the epoch)."""
        mono_s, now_ns, host = at.mono_s, at.t_ns, self._host
        return [f"{iso(t_ns)},{t_ns},{mono_s + (t_ns - now_ns) / 1e9:.6f},{host}," for t_ns in moments]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def form(columns: Iterable[str], fixed: Row, told: Iterable[str]) -> str:
    """A row behind its stamp for `form % cells`: what is the same in each, and a hole for each column of `told`.

    The holes stand in the order of the columns.
    """
    cells = dict.fromkeys(list(columns)[4:], "")
    cells.update((name, cell(value).replace("%", "%%")) for name, value in fixed.items() if value is not None)
    cells.update((name, "%s") for name in told)
    return ",".join(cells.values()) + "\n"


def clock_notes(at: Now) -> list[str]:
    """Comment lines that tie the clocks together."""
    import time

    boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return [f"clock t_ns={at.t_ns} mono_s={at.mono_s:.6f} boottime_s={boot_s:.6f}", f"host {host_name()}"]
