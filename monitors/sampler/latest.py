"""The newest value of every figure of a run, read from its files while they grow: for the live table and Prometheus."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from doctor.run.folder import RunDir, host_name, read_events

Key = TypeVar("Key")

#: rows of one file that are read at a time; a file that grew by more is read from its end
_MOST_BYTES = 1 << 20

#: how often new machines, and those that were lost, are looked for
_LOOK_S = 3.0

#: a figure that has not come again for so long is no longer shown; the dearest come every five seconds
STALE_S = 8.0


class Tail:
    """New rows of a CSV file that another process appends to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._columns: list[str] | None = None
        self._rest = b""

    def rows(self) -> list[dict[str, str]]:
        """Whole rows that were appended since the last call."""
        if self._file is None:
            with suppress(OSError):
                self._file = self._path.open("rb")
        if self._file is None:
            return []
        self._skip(self._file)
        data = self._rest + self._file.read(_MOST_BYTES)
        *lines, self._rest = data.split(b"\n")
        return [row for line in lines if (row := self._row(line.decode("utf-8", "replace"))) is not None]

    def _skip(self, file: IO[bytes]) -> None:
        """Go near the end of a file that grew by more than is read at a time; its head is read in any case."""
        begin = os.fstat(file.fileno()).st_size - _MOST_BYTES
        if self._columns is not None and begin > file.tell():
            file.seek(begin)
            file.readline()
            self._rest = b""

    def _row(self, line: str) -> dict[str, str] | None:
        if line.startswith("#"):
            return None
        cells = line.split(",")
        if self._columns is None:
            self._columns = cells
            return None
        return dict(zip(self._columns, cells, strict=True)) if len(cells) == len(self._columns) else None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Latest:
    """Newest figures: of each GPU and instance, of the machine, of each process, of each process on a GPU.

    Args:
        run: the run folder; csv: the GPU file, where it lies elsewhere; host: whose, None: this machine's.

    """

    def __init__(self, run: RunDir, csv: Path | None = None, host: str | None = None) -> None:
        self._run = run
        files = (csv or run.gpu(host), run.host(host), run.processes(host), run.gpu_processes(host))
        self._tails = [Tail(path) for path in files]
        self.gpus: dict[tuple[str, str], dict[str, str]] = {}
        self._since: dict[tuple[str, str, str], float] = {}
        self.host: dict[str, str] = {}
        self.processes: dict[str, dict[str, str]] = {}
        self.gpu_processes: dict[tuple[str, str, str], dict[str, str]] = {}
        self._mono_s = 0.0
        self.cards: dict[str, dict[str, Any]] = {}  # index -> name, memory_total_mib; as the sampler told when it began
        self._host = host

    def read(self) -> None:
        """Take in what has been written since the last call."""
        if not self.cards and self.gpus:
            self.cards = self._told_cards()
        gpus, host, processes, on_gpus = (tail.rows() for tail in self._tails)
        for row in gpus:
            key = (row["gpu"], row["mig"])
            kept = self.gpus.setdefault(key, {})
            self._mono_s = max(self._mono_s, float(row["mono_s"]))
            for name, value in row.items():
                if value:
                    kept[name] = value
                    self._since[key[0], key[1], name] = float(row["mono_s"])
        if host:
            self.host = host[-1]
        for row in processes:
            self.processes[row["pid"]] = row
        for row in on_gpus:
            self.gpu_processes[row["gpu"], row["mig"], row["pid"]] = row
        self._forget()

    def _forget(self) -> None:
        self.processes = _recent(self.processes, 3.0)
        self.gpu_processes = _recent(self.gpu_processes, 15.0)

    def figure(self, key: tuple[str, str], column: str, stale_s: float = STALE_S) -> float | None:
        """A number of a GPU or instance; None where it is not told or has not come for a while."""
        since = self._since.get((key[0], key[1], column))
        if since is None or self._mono_s - since > stale_s:
            return None
        with suppress(ValueError):
            return float(self.gpus[key][column])
        return None

    def text(self, key: tuple[str, str], column: str) -> str:
        """A text of a GPU or instance; empty where it is not told or has not come for a while."""
        since = self._since.get((key[0], key[1], column))
        return "" if since is None or self._mono_s - since > STALE_S else self.gpus[key][column]

    def _told_cards(self) -> dict[str, dict[str, Any]]:
        for event in self._run.read_events():
            cards = event["data"].get("cards")
            if isinstance(cards, dict) and event["host"] == (self._host or host_name()):
                return {index: each for index, each in cards.items() if isinstance(each, dict)}
        return {}

    def why_no_gpu(self) -> str | None:
        """Why no GPU is sampled; None while that is not known or some are."""
        told = [each["data"] for each in self._run.read_events() if each["data"].get("what") == "no gpu"]
        return str(told[-1].get("reason")) if told else None

    def close(self) -> None:
        """Close the files."""
        for tail in self._tails:
            tail.close()


class LatestOfNodes:
    """The same of every machine that writes into a run folder; new ones are taken in as they come.

    Args:
        run: the run folder.

    """

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._look_s = 0.0
        self.nodes: dict[str, Latest] = {}
        self.lost: set[str] = set()

    def read(self) -> None:
        """Take in what has been written since the last call."""
        if time.monotonic() >= self._look_s:
            self._look_s = time.monotonic() + _LOOK_S
            self._look()
        for each in self.nodes.values():
            each.read()

    def _look(self) -> None:
        for path in (self._run.path / "host").glob("*.csv"):
            if not path.stem.endswith("-processes") and path.stem not in self.nodes:
                self.nodes[path.stem] = Latest(self._run, host=path.stem)
        told: dict[str, str] = {}
        for path in (self._run.path / "events").glob(f"{host_name()}-*.jsonl"):  # who gathers is on this machine
            for event in read_events(path):
                if event["data"].get("what") in {"node lost", "node back"}:
                    told[str(event["data"]["of"])] = event["data"]["what"]
        self.lost = {node for node, what in told.items() if what == "node lost"}

    def close(self) -> None:
        """Close the files."""
        for each in self.nodes.values():
            each.close()


def _recent(rows: dict[Key, dict[str, str]], seconds: float) -> dict[Key, dict[str, str]]:
    """Rows of the last seconds before the newest."""
    newest = max((float(row["mono_s"]) for row in rows.values()), default=0.0)
    return {key: row for key, row in rows.items() if float(row["mono_s"]) >= newest - seconds}
