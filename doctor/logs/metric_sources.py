"""Which of the given paths are files of metrics rather than logs, and which such files a folder holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from doctor.core.columns import MetricRow
from doctor.core.record import record
from doctor.logs.metric_files import read_metrics_csv, read_trainer_state

STATE = "trainer_state.json"
_CHECKPOINT = re.compile(r"^checkpoint-(\d{1,12})$")
_RANK = re.compile(r"^rank(\d{1,6})\.csv$")
_DEEPEST, _MOST_FOLDERS = 4, 5_000
_PEEK_BYTES = 4096


@record
class MetricSource:
    """A file of metrics; `rank`: whose, where its name tells."""

    path: str
    rank: int | None = None

    def rows(self) -> Iterator[MetricRow]:
        """Its rows in order.

        Raises:
            MetricFileError: it is not what its name says.

        """
        path = Path(self.path)
        return read_metrics_csv(path, self.rank) if path.suffix == ".csv" else read_trainer_state(path)


def metric_file(path: str) -> MetricSource | None:
    """The path as a file of metrics; None for logs, folders and everything else. A state may be called otherwise."""
    name = Path(path).name
    if not name.endswith((".json", ".csv")) or not Path(path).is_file():
        return None
    if name != STATE and not (_has_columns if name.endswith(".csv") else _is_state)(Path(path)):
        return None
    rank = _RANK.match(name)
    return MetricSource(path, int(rank[1]) if rank else None)


def in_folder(folder: str) -> list[MetricSource]:
    """Files of metrics below a folder: those of a run folder, and of each training the trainer's last state."""
    run = Path(folder) / "metrics"
    found = [each for path in _ranks(run) if (each := metric_file(str(path))) is not None] if run.is_dir() else []
    return found + [MetricSource(str(path)) for path in _last_states(folder)]


def _ranks(folder: Path) -> list[Path]:
    return sorted(folder.glob("rank*.csv"), key=lambda each: (len(each.name), each.name))


def _last_states(folder: str) -> Iterable[Path]:
    """Of the states of one output folder the last, for each holds the whole history so far."""
    last: dict[str, tuple[int, Path]] = {}
    depth = folder.rstrip(os.sep).count(os.sep)
    for number, (root, folders, files) in enumerate(os.walk(folder)):
        if number >= _MOST_FOLDERS:
            break
        folders[:] = (
            sorted(each for each in folders if not each.startswith("."))
            if root.count(os.sep) - depth < _DEEPEST
            else []
        )
        if STATE in files:
            checkpoint = _CHECKPOINT.match(Path(root).name)
            owner, step = (str(Path(root).parent), int(checkpoint[1])) if checkpoint else (root, 1 << 62)
            last[owner] = max(last.get(owner, (-1, Path())), (step, Path(root) / STATE))
    return [path for _, path in last.values()]


def _is_state(path: Path) -> bool:
    """Whether a file has the keys with which a Trainer's state begins, in the order of the alphabet."""
    first = _first(path)
    return first.startswith(b"{") and b'"global_step":' in first and b'"log_history":' in first


def _first(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_PEEK_BYTES)
    except OSError:
        return b""


def _has_columns(path: Path) -> bool:
    lines = _first(path).splitlines()
    head = next((line for line in lines if not line.startswith(b"#")), b"")
    return {b"step", b"name", b"value"} <= set(head.split(b","))
