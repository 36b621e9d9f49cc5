"""Which of the given paths are files of metrics rather than logs, and which such files a folder holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.series import ALIASES
from doctor.logs.metrics.files import (
    MetricFileError,
    read_metrics_csv,
    read_step_and_data,
    read_trainer_state,
    read_wide_csv,
    step_column,
)
from doctor.logs.metrics.wanted import DRAWN

STATE = "trainer_state.json"
_CHECKPOINT = later(r"^checkpoint-(\d{1,12})$")
_RANK = later(r"^rank(\d{1,6})\.csv$")
_DEEPEST, _MOST_FOLDERS = 4, 5_000
_PEEK_BYTES = 4096


#: how an address on wandb's server begins
WANDB = "wandb://"

_Read = Callable[[Path], Iterator[MetricRow]]


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
        if self.path.startswith(WANDB):
            from doctor.logs.metrics import trackers

            return trackers.read_wandb_run(self.path)
        path = Path(self.path)
        read = _reader(path)
        if read is None:
            raise MetricFileError(f"{path} is no longer a file of metrics")
        return read_metrics_csv(path, self.rank) if read is read_metrics_csv else read(path)


def metric_file(path: str) -> MetricSource | None:
    """The path as a place of metrics; None for logs, other folders and everything else."""
    if path.startswith(WANDB):
        return MetricSource(path)
    if _reader(Path(path)) is None:
        return None
    rank = _RANK.match(Path(path).name)
    return MetricSource(path, int(rank[1]) if rank else None)


def _reader(path: Path) -> _Read | None:
    """What reads this file of metrics, by its name and its first bytes."""
    name = path.name
    if path.is_dir():
        return _of_tracker(path, _MLFLOW) if _is_mlflow_run(path) else None
    if not path.is_file():
        return None
    if name.startswith(_EVENTS) and name[len(_EVENTS) :][:1].isdigit():
        return _of_tracker(path, _EVENTS)
    suffix = path.suffix
    if suffix in _FRAMED:
        return _of_tracker(path, suffix) if _first(path).startswith(_FRAMED[suffix]) else None
    if suffix in _DATABASES:
        return _of_tracker(path, _SQLITE) if _first(path).startswith(_SQLITE.encode()) else None
    if suffix == ".csv":
        return _reader_of_csv(path)
    if suffix == ".json" and (name == STATE or _is_state(path)):
        return read_trainer_state
    return read_step_and_data if suffix in (".jsonl", ".json") and _is_step_and_data(path) else None


_EVENTS, _MLFLOW = "events.out.tfevents.", "mlflow"
_DATABASES = (".db", ".sqlite", ".sqlite3")
_SQLITE = "SQLite format 3\0"
#: suffix -> how such a file begins
_FRAMED = {".wandb": b":W&B", ".swanlab": b":SWL"}


def _of_tracker(path: Path, kind: str) -> _Read | None:
    """What reads a file that an experiment tracker wrote; imported here, for most logs have none beside them."""
    from doctor.logs.metrics import trackers

    if kind == _SQLITE:
        return trackers.reader_of_database(path)
    readers: dict[str, _Read] = {
        _EVENTS: trackers.read_tensorboard,
        _MLFLOW: trackers.read_mlflow_folder,
        ".wandb": trackers.read_wandb,
        ".swanlab": trackers.read_swanlab,
    }
    return readers[kind]


def in_folder(folder: str) -> list[MetricSource]:
    """Files of metrics below a folder: those of a run folder, of each training the trainer's last state, and of each
    tracker the newest.
    """
    if (whole := metric_file(folder)) is not None:
        return [whole]
    run = Path(folder) / "metrics"
    found = [each for path in _ranks(run) if (each := metric_file(str(path))) is not None] if run.is_dir() else []
    return found + [MetricSource(str(path)) for path in (*_last_states(folder), *_of_trackers(folder))]


def _of_trackers(folder: str) -> list[Path]:
    """The newest file of each tracker, and every file of steps and data."""
    newest: dict[str, tuple[float, Path]] = {}
    for root, folders, files in _walk(folder):
        if Path(root).name == "metrics" and _is_mlflow_run(Path(root)):
            folders[:] = []
            _keep_newest(newest, _MLFLOW, Path(root))
        for name in files:
            path = Path(root) / name
            kind = _kind(name)
            if kind and _reader(path) is not None:
                _keep_newest(newest, str(path) if kind == ".jsonl" else kind, path)
    return [path for _, path in newest.values()]


def _kind(name: str) -> str:
    """Which tracker a file may be of, by its name; nothing for most files."""
    if name.startswith(_EVENTS):
        return _EVENTS
    suffix = Path(name).suffix
    return suffix if suffix in (*_FRAMED, ".jsonl") else "database" if suffix in _DATABASES else ""


def _keep_newest(newest: dict[str, tuple[float, Path]], kind: str, path: Path) -> None:
    try:
        written = path.stat().st_mtime
    except OSError:
        return
    if kind not in newest or written > newest[kind][0]:
        newest[kind] = (written, path)


def _is_mlflow_run(folder: Path) -> bool:
    """Whether a folder is the `metrics` of a run of MLflow, which keeps its `meta.yaml` and `params` beside it."""
    return folder.name == "metrics" and (folder.parent / "meta.yaml").is_file() and (folder.parent / "params").is_dir()


def _ranks(folder: Path) -> list[Path]:
    return sorted(folder.glob("rank*.csv"), key=lambda each: (len(each.name), each.name))


def _last_states(folder: str) -> Iterable[Path]:
    """Of the states of one output folder the last, for each holds the whole history so far."""
    last: dict[str, tuple[int, Path]] = {}
    for root, _, files in _walk(folder):
        if STATE in files:
            checkpoint = _CHECKPOINT.match(Path(root).name)
            owner, step = (str(Path(root).parent), int(checkpoint[1])) if checkpoint else (root, 1 << 62)
            last[owner] = max(last.get(owner, (-1, Path())), (step, Path(root) / STATE))
    return [path for _, path in last.values()]


def _walk(folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Folders that are not hidden, some levels deep, with what they hold."""
    depth = folder.rstrip(os.sep).count(os.sep)
    for number, (root, folders, files) in enumerate(os.walk(folder)):
        if number >= _MOST_FOLDERS:
            return
        deep = root.count(os.sep) - depth >= _DEEPEST
        folders[:] = [] if deep else sorted(each for each in folders if not each.startswith("."))
        yield root, folders, sorted(files)


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


def _reader_of_csv(path: Path) -> _Read | None:
    lines = _first(path).decode("utf-8-sig", "replace").splitlines()
    head = next((line for line in lines if not line.startswith("#")), "").split(",")
    if {"step", "name", "value"} <= set(head):
        return read_metrics_csv
    known = any(own.strip().strip('"') in _KNOWN for own in head)
    return read_wide_csv if known and step_column(head) is not None else None


#: metrics by which a table is known to be one of a training
_KNOWN = frozenset((*ALIASES, *ALIASES.values(), *DRAWN))


def _is_step_and_data(path: Path) -> bool:
    """Whether the first line has a step and data, as veRL's file logger writes them."""
    first = _first(path).split(b"\n", 1)[0].lstrip()
    return first.startswith(b'{"step"') and _STEP_AND_DATA.match(first) is not None


_STEP_AND_DATA = later(rb'\{"step": ?\d{1,12}, ?"data": ?\{')
