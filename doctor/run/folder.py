"""The run folder: where everything lies that is written about one run, and how it is written and read.

One writer a file, append-only; a torn line is skipped on reading; any file may be missing. Only `run.json` is
replaced, by rename. Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional, Union

from doctor.base.numerals import whole_of
from doctor.base.patterns import later
from doctor.base.redact import redact, redact_text
from doctor.run.appender import TORN, Appender
from doctor.run.patience import touch

SCHEMA = "doctor-run/1"

#: variable that names the folder to every process of the run
VARIABLE = "DOCTOR_RUN_DIR"

#: name of this machine in the run, where its own is another's there already
HOST_VARIABLE = "DOCTOR_HOST"

#: folder, below the working directory, that holds the runs
RUNS = "doctor-runs"

#: what an event may be
KINDS = frozenset({"start", "phase", "step", "alarm", "exception", "hang", "gpu", "monitor", "stop", "end"})

#: a file of so many bytes keeps room for the last notes of a run whose disk is full by then: its end, and kinds of
#: events on which the exit code or the verdict depends
ROOM, ROOM_BYTES = ".room", 16384
_LAST_WORDS = frozenset({"stop", "exception"})

#: what a run can be doing; the innermost of nested phases counts
PHASES = ("generation", "reward", "reference", "update", "weight_sync", "checkpoint", "eval", "other")

_LONGEST_LINE = 16 << 20  # characters; an event with a long traceback has some thousands
_TORN_END = TORN.decode() + "\n"

#: what a run leaves is nobody's source: git sees nothing of the folder, this file included
_NOT_FOR_GIT = "*\n"

_UNFIT = later(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 40


def host_name() -> str:
    """Name of this machine, fit for a file name; the one that it was given in this run, if it was given one."""
    return _fit(os.environ.get(HOST_VARIABLE) or _host_of_system()) or "host"


def _host_of_system() -> str:
    import socket  # which costs a start more than the rest of this module

    return socket.gethostname()


def _fit(text: str) -> str:
    return _UNFIT.sub("-", text).strip("-.")[:_LONGEST_NAME]


class RunDir:
    """Paths inside one run folder."""

    def __init__(self, path: Union[str, Path]) -> None:
        self.path = Path(path)

    @classmethod
    def create(cls, name: str, base: Optional[Path] = None) -> RunDir:
        """Make `<base>/<UTC time>-<name>`; a second run in the same second gets a number behind it.

        Args:
            name: of the run, whatever characters it holds.
            base: folder of all runs; `doctor-runs` in the working directory where None.

        Raises:
            OSError: the folder cannot be made.

        """
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        whole = "-".join(part for part in (stamp, _fit(name)) if part)
        base = Path(RUNS).absolute() if base is None else base.absolute()
        for number in range(1, 1000):
            path = base / (whole if number == 1 else f"{whole}-{number}")
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            with suppress(OSError):  # a run without it is a run all the same
                (path / ".gitignore").write_text(_NOT_FOR_GIT, encoding="utf-8")
            return cls(path)
        raise FileExistsError(f"{base / whole} and 999 like it exist already")

    @classmethod
    def of_environment(cls) -> Optional[RunDir]:
        """The folder of the run that this process belongs to; None outside of one."""
        path = os.environ.get(VARIABLE)
        if not path:
            return None
        # not `Path.is_dir`: it raises where a disk has gone
        return cls(path) if touch(lambda: os.path.isdir(path), late=False) else None  # noqa: PTH112

    @property
    def run_json(self) -> Path:
        """{schema, argv, cwd, started_ns, ended_ns, exit, host, ranks}; `stopped` where the guard stopped the run."""
        return self.path / "run.json"

    @property
    def console(self) -> Path:
        """What the command printed."""
        return self.path / "logs" / "console.log"

    def events(self, host: Optional[str] = None, pid: Optional[int] = None) -> Path:
        """Events of one process."""
        return self.path / "events" / f"{host or host_name()}-{pid or os.getpid()}.jsonl"

    def metrics(self, rank: int) -> Path:
        """Metrics of one rank: step,t_ns,name,value."""
        return self.path / "metrics" / f"rank{rank}.csv"

    def gpu(self, host: Optional[str] = None) -> Path:
        """What the GPUs of one machine did, one row a GPU and tick."""
        return self.path / "gpu" / f"{host or host_name()}.csv"

    def gpu_processes(self, host: Optional[str] = None) -> Path:
        """Which process held how much memory of which GPU, every few seconds."""
        return self.path / "gpu" / f"{host or host_name()}-processes.csv"

    def host(self, host: Optional[str] = None) -> Path:
        """What CPU, memory, disks and network of one machine did, once a second."""
        return self.path / "host" / f"{host or host_name()}.csv"

    def processes(self, host: Optional[str] = None) -> Path:
        """What each process of the run on one machine used, once a second."""
        return self.path / "host" / f"{host or host_name()}-processes.csv"

    def write_run(self, **values: Any) -> None:
        """Add to `run.json`, without secrets; a reader sees the old or the new file, never half of one.

        Raises:
            OSError: it cannot be written.

        """
        plain = {name: redact(value, homes=False) for name, value in values.items()}
        data = {"schema": SCHEMA, **self.read_run(), **plain}
        made = self.run_json.with_suffix(f".{os.getpid()}")
        made.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        made.replace(self.run_json)

    def read_run(self) -> dict[str, Any]:
        """What `run.json` holds, without what has not its shape; empty where it is missing or broken."""
        try:
            data = json.loads(self.run_json.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(data, dict):
            return {}
        return {name: each for name, each in data.items() if type(each) in _SHAPES.get(name, (type(each),))}

    def read_events(self) -> list[dict[str, Any]]:
        """Events of all processes in order of time."""
        found = [each for path in sorted(self.path.glob("events/*.jsonl")) for each in read_events(path)]
        return sorted(found, key=lambda each: int(each["t_ns"]))


#: types of what readers take out of `run.json`; a bool is no exit code
_SHAPES: dict[str, tuple[type, ...]] = {"argv": (list,), "exit": (int,), "console": (dict,), "stopped": (dict,)}


class Events:
    """Writes the events of this process; whatever goes wrong stays here, and nobody waits for a disk that hangs.

    Args:
        run: the run folder.
        rank: of this process; None: what RANK says, if anything.
        role: of this process, "trainer" for one.

    """

    def __init__(self, run: RunDir, rank: Optional[int] = None, role: Optional[str] = None) -> None:
        text = os.environ.get("RANK", "")
        self._run = run
        self._rank = rank if rank is not None else whole_of(text)
        self._role = role
        self._host = host_name()
        self._pid = os.getpid()
        #: the part of every line that says who, as JSON
        self._who = json.dumps({"host": self._host, "pid": self._pid, "rank": self._rank, "role": role})[1:-1]
        self._file = Appender(run.events(self._host, self._pid))
        self._dropped = 0  # lines that were not even tried

    def write(self, kind: str, *, id: Optional[str] = None, step: Optional[int] = None, **data: Any) -> bool:  # noqa: A002 - the event's own field
        """Append one event; whether it was written.

        Raises:
            ValueError: `kind` is none of KINDS (our own mistake).

        """
        if kind not in KINDS:
            raise ValueError(f"no such kind of event: {kind}")
        return self._soon(self._line(time.time_ns(), kind, id, step, data), last=kind in _LAST_WORDS)

    def write_phases(self, marks: Sequence[tuple[int, str, str, Optional[int]]]) -> bool:
        """Append marks (t_ns, name of PHASES, "begin" or "end", step) that were made before now, in one write."""
        return self._soon("".join([
            f'{{"t_ns": {t_ns}, {self._who}, "step": {"null" if step is None else step}, "kind": "phase", "id": null, '
            f'"data": {{"name": "{name}", "edge": "{edge}"}}}}\n'
            for t_ns, name, edge, step in marks
        ]))  # fmt: skip

    def _soon(self, lines: str, *, last: bool = False) -> bool:
        """Append lines; whether they lie in the file now."""
        return touch(lambda: self._append(lines, last=last), False, lambda: self.drop(lines))

    def drop(self, lines: str) -> None:
        """Count lines that nobody could try to write: the next event tells how many they were."""
        self._dropped += lines.count("\n")

    def _append(self, lines: str, *, last: bool) -> bool:
        dropped = self._dropped
        if dropped:  # while the disk did not answer
            told = {"what": "lines dropped", "lines": dropped}
            lines = self._line(time.time_ns(), "monitor", None, None, told) + lines
        done = self._file.write(lines)
        if not done and last:
            with suppress(OSError):
                (self._run.path / ROOM).unlink()  # what was kept free for this
            done = self._file.write(lines)
        if done:
            self._dropped -= dropped
        return done

    def _line(self, t_ns: int, kind: str, id: Optional[str], step: Optional[int], data: dict[str, Any]) -> str:  # noqa: A002
        if not data and id is None:
            told = "null" if step is None else step
            return f'{{"t_ns": {t_ns}, {self._who}, "step": {told}, "kind": "{kind}", "id": null, "data": {{}}}}\n'
        event = {
            "t_ns": t_ns, "host": self._host, "pid": self._pid, "rank": self._rank, "role": self._role,
            "step": step, "kind": kind, "id": id, "data": redact(data, homes=False),
        }  # fmt: skip
        return json.dumps(event, default=_as_text) + "\n"

    def close(self) -> None:
        """Close the file."""
        touch(self._file.close, None)


def _as_text(value: object) -> str:
    return redact_text(str(value), homes=False)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Events of one file; torn and foreign lines are skipped."""
    for line in whole_lines(path):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and _is_int(event.get("t_ns")) and event.get("kind") in _KIND_NAMES:
            yield _as_written(event)


_KIND_NAMES = tuple(KINDS)  # what a damaged line has for a kind may be a list, which no set can be asked for


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _as_written(event: dict[str, Any]) -> dict[str, Any]:
    """The event with every field that `Events` writes, None or empty where it is missing or of another type."""
    numbers = {name: event.get(name) if _is_int(event.get(name)) else None for name in ("rank", "step")}
    words = {name: event.get(name) if isinstance(event.get(name), str) else None for name in ("role", "id")}
    data, host, pid = event.get("data"), event.get("host"), event.get("pid")
    return {
        **event, **numbers, **words,
        "host": host if isinstance(host, str) else "",
        "pid": pid if _is_int(pid) else 0,
        "data": data if isinstance(data, dict) else {},
    }  # fmt: skip


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """Rows of one of the run folder's CSV files as column -> text; lines that begin with # and torn ones are skipped.

    The doctor's own files quote nothing, so a line is split at its commas.
    """
    columns: Optional[list[str]] = None
    for line in whole_lines(path):
        if line.startswith("#"):
            continue
        cells = line.split(",")
        if columns is None:
            columns = cells
        elif len(cells) == len(columns) and cells != columns:  # a header again: two files were joined
            yield dict(zip(columns, cells))  # noqa: B905 - Python 3.9 has no strict=


def whole_lines(path: Path) -> Iterator[str]:
    """Lines that were written whole, without line break; nothing from a file that is missing or may not be read."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            begun = False  # whether this is the rest of a line that is longer than any of ours
            while line := file.readline(_LONGEST_LINE):
                if not begun and line.endswith("\n") and not line.endswith(_TORN_END):
                    yield line[:-1].removesuffix("\r")
                begun = not line.endswith("\n")
    except OSError:
        return


def context_of(folder: Path) -> tuple[Path, ...]:
    """What a run folder holds that a post-mortem reads beside the logs: facts of its hosts, and the command."""
    return tuple(each for each in (*sorted((folder / "facts").glob("*.json")), folder / "run.json") if each.is_file())


def cell(value: Any) -> str:
    """Text of a value that is told; never holds what would end the cell."""
    if isinstance(value, str):
        return value.replace(",", " ").replace("\n", " ").replace("\r", " ")
    return f"{value:.6g}" if isinstance(value, float) else str(value)
