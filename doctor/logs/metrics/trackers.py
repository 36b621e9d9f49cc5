"""Metrics where experiment trackers keep them: TensorBoard, wandb, MLflow, trackio, SwanLab; read plainly.

Nothing is written beside them, no database is locked, and nothing is imported but for `wandb://`, which asks wandb's
own library. Of a place that holds several runs the last one is read.

Sources of the formats:
https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto (and summary.proto)
https://github.com/wandb/wandb/blob/main/wandb/proto/wandb_internal.proto (Record, HistoryRecord, HistoryItem)
https://github.com/mlflow/mlflow/blob/master/mlflow/store/tracking/file_store.py (and dbmodels/models.py, SqlMetric)
https://github.com/gradio-app/trackio/blob/main/trackio/sqlite_storage.py
https://github.com/SwanHubX/SwanLab (protobuf of release 0.10: record 13, key 1, step 2, scalar 5)
"""

from __future__ import annotations

import importlib
import json
import math
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Optional

from doctor.catalogue.columns import MetricRow
from doctor.catalogue.series import ALIASES, as_number
from doctor.logs.metrics.files import MetricFileError
from doctor.logs.metrics.framing import fields, leveldb_records, signed, tf_records
from doctor.logs.metrics.names import shared
from doctor.logs.rollouts.sample import DumpNotReadable
from doctor.logs.rollouts.sqlite import Reader

#: keys of a row that tell its step, before the count of the tracker's own calls does
_STEPS = ("train/global_step", "training/global_step", "global_step", "trainer/global_step")

#: what trackers add of their own
_OWN = ("system/", "system.", "_")

#: the order in which TRL prints a row: rules that put several metrics together judge at the last of them
_ORDER = (
    "loss",
    "grad_norm",
    "learning_rate",
    "completions/",
    "rewards/",
    "reward",
    "reward_std",
    "frac_reward_zero_std",
    "kl",
)

#: values of a whole run that are put in order; more are refused rather than swapped to disk
_MOST_VALUES = 20_000_000

Values = dict[str, float]


def own_name(name: str) -> str:
    """Canonical name of a metric in a tracker, where Transformers sets `train/` or `eval/` before its own.

    https://github.com/huggingface/transformers/blob/main/src/transformers/integrations/integration_utils.py
    """
    known = ALIASES.get(name)
    if known is not None:
        return known
    if name == "eval/loss":
        return "eval_loss"
    bare = name.removeprefix("train/")
    return ALIASES.get(bare, bare)


def _rank(name: str) -> int:
    for place, begin in enumerate(_ORDER):
        if name == begin or (begin.endswith("/") and name.startswith(begin)):
            return place
    return len(_ORDER)


def row_of(
    step: Optional[int], told: Mapping[str, Any], source: str, t_ns: Optional[int] = None
) -> Optional[MetricRow]:
    """A row of what was logged together; None where none of it is a number."""
    for key in _STEPS:
        number = as_number(told.get(key))
        if number is not None and number.is_integer():
            step = int(number)
            break
    values: Values = {}
    for name, value in told.items():
        number = as_number(value)
        if number is not None and name not in _STEPS and not name.startswith(_OWN):
            values.setdefault(own_name(name), number)
    names = sorted(values, key=_rank)
    return (
        MetricRow(step, shared(tuple(names)), tuple(values[each] for each in names), t_ns, None, source)
        if names
        else None
    )


def _grouped(points: Iterable[tuple[int, str, float, Optional[int]]], source: str) -> Iterator[MetricRow]:
    """Rows of points (step, name, value, time) that come one by one, in the order of their steps."""
    rows: dict[int, tuple[Values, Optional[int]]] = {}
    for count, (step, name, value, t_ns) in enumerate(points):
        if count >= _MOST_VALUES:
            raise MetricFileError(f"{source} holds more than {_MOST_VALUES} values")
        rows.setdefault(step, ({}, t_ns))[0][name] = value
    for step in sorted(rows):
        values, t_ns = rows[step]
        if (row := row_of(step, values, source, t_ns)) is not None:
            yield row


def read_tensorboard(path: Path) -> Iterator[MetricRow]:
    """Rows of an event file: scalars, and tensors of one number (as TensorFlow 2 and newer writers keep scalars).

    Raises:
        MetricFileError: it is no event file.

    """
    with path.open("rb") as file:
        yield from _grouped(_scalars(tf_records(file), str(path)), str(path))


def _scalars(records: Iterable[bytes], source: str) -> Iterator[tuple[int, str, float, Optional[int]]]:
    for record in records:
        try:
            event = dict(fields(record))
            summary, step, wall = event.get(5), event.get(2, 0), event.get(1)
            if not isinstance(summary, bytes) or not isinstance(step, int):
                continue
            t_ns = int(struct.unpack("<d", wall)[0] * 1e9) if isinstance(wall, bytes) and len(wall) == 8 else None
            for number, value in fields(summary):
                told = dict(fields(value)) if number == 1 and isinstance(value, bytes) else {}
                tag, scalar = told.get(1), _scalar(told)
                if isinstance(tag, bytes) and scalar is not None:
                    yield signed(step), tag.decode("utf-8", "replace"), scalar, t_ns
        except (ValueError, struct.error) as error:
            raise MetricFileError(f"{source} is no event file: {error}") from None


def _scalar(told: Mapping[int, Any]) -> Optional[float]:
    """The number of a summary's value: field 2 of old writers, a tensor (8) of one float or double of new ones."""
    simple, tensor = told.get(2), told.get(8)
    if isinstance(simple, bytes) and len(simple) == 4:
        return float(struct.unpack("<f", simple)[0])
    if not isinstance(tensor, bytes):
        return None
    parts = {number: value for number, value in fields(tensor) if isinstance(value, bytes)}
    for number, form in ((4, "<f"), (5, "<f"), (6, "<d")):
        content = parts.get(number, b"")
        kind = "<d" if number == 4 and len(content) == 8 else form
        if len(content) == struct.calcsize(kind):
            return float(struct.unpack(kind, content)[0])
    return None


_WANDB_HEAD, _SWANLAB_HEAD = b":W&B", b":SWL"


def read_wandb(path: Path) -> Iterator[MetricRow]:
    """Rows of a `run-*.wandb`, which wandb writes beside every run, offline or not.

    Raises:
        MetricFileError: it is none.

    """
    for number, record in enumerate(_framed(path, _WANDB_HEAD), 1):
        try:
            history = next((value for field, value in fields(record) if field == 2), None)
            told, step = _history(history) if isinstance(history, bytes) else ({}, None)
        except ValueError as error:
            raise MetricFileError(f"{path}: record {number} is damaged: {error}") from None
        row = row_of(step, told, str(path)) if told else None
        if row is not None:
            yield row


def _history(message: bytes) -> tuple[dict[str, Any], Optional[int]]:
    told: dict[str, Any] = {}
    step = None
    for field, value in fields(message):
        if field == 2 and isinstance(value, bytes):
            step = next((signed(number) for at, number in fields(value) if at == 1 and isinstance(number, int)), 0)
        elif field == 1 and isinstance(value, bytes):
            item = list(fields(value))
            names = [each.decode("utf-8", "replace") for at, each in item if at in (1, 2) and isinstance(each, bytes)]
            text = next((each for at, each in item if at == 16 and isinstance(each, bytes)), b"")
            number = next((each for at, each in item if at == 6 and isinstance(each, bytes)), None)
            told["/".join(names)] = struct.unpack("<d", number)[0] if number else _json(text)
    own = told.pop("_step", None)
    return told, int(own) if step is None and isinstance(own, int) else step


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def read_swanlab(path: Path) -> Iterator[MetricRow]:
    """Rows of a `run-*.swanlab` of release 0.10 and newer.

    Raises:
        MetricFileError: it is none.

    """
    yield from _grouped(_swanlab_points(path), str(path))


def _swanlab_points(path: Path) -> Iterator[tuple[int, str, float, Optional[int]]]:
    for number, record in enumerate(_framed(path, _SWANLAB_HEAD), 1):
        try:
            data = next((value for field, value in fields(record) if field == 13), None)
            told = dict(fields(data)) if isinstance(data, bytes) else {}
            name, step, scalar = told.get(1), told.get(2, 0), told.get(5)
            if not (isinstance(name, bytes) and isinstance(step, int) and isinstance(scalar, bytes)):
                continue
            value = dict(fields(scalar)).get(1, bytes(8))  # a zero is left out
        except ValueError as error:
            raise MetricFileError(f"{path}: record {number} is damaged: {error}") from None
        if isinstance(value, bytes) and len(value) == 8:
            yield signed(step), name.decode("utf-8", "replace"), float(struct.unpack("<d", value)[0]), None


def _framed(path: Path, head: bytes) -> Iterator[bytes]:
    with path.open("rb") as file:
        first = file.read(len(head))
        if first and first != head:
            raise MetricFileError(f"{path} does not begin with {head.decode()}")
        file.seek(0)
        yield from leveldb_records(file, len(head) + 3)


#: older releases know a run by its name alone
_LAST_OF_TRACKIO = {
    "run_id": "SELECT run_id FROM metrics ORDER BY rowid DESC LIMIT 1",
    "run_name": "SELECT run_name FROM metrics ORDER BY rowid DESC LIMIT 1",
}
_ROWS_OF_TRACKIO = {
    "run_id": "SELECT step, timestamp, metrics FROM metrics WHERE run_id = ? ORDER BY step, rowid",
    "run_name": "SELECT step, timestamp, metrics FROM metrics WHERE run_name = ? ORDER BY step, rowid",
}


def read_trackio(path: Path) -> Iterator[MetricRow]:
    """Rows of the last run in a project's database of trackio."""
    with _database(path) as connection:
        run = "run_id" if "run_id" in _columns(connection, "metrics") else "run_name"
        last = connection.execute(_LAST_OF_TRACKIO[run]).fetchone()
        found = connection.execute(_ROWS_OF_TRACKIO[run], last or ("",))
        for step, stamp, text in found:
            told = _json(text)
            row = row_of(step, told, str(path), _time_ns(stamp)) if isinstance(told, dict) else None
            if row is not None:
                yield row


def read_mlflow_database(path: Path) -> Iterator[MetricRow]:
    """Rows of the last run in a database of MLflow."""
    with _database(path) as connection:
        last = connection.execute("SELECT run_uuid FROM metrics ORDER BY timestamp DESC LIMIT 1").fetchone()
        found: Iterable[Any] = () if last is None else connection.execute(
            "SELECT step, key, CASE WHEN is_nan THEN NULL ELSE value END, timestamp FROM metrics WHERE run_uuid = ?"
            " ORDER BY step, timestamp", last,
        )  # fmt: skip
        yield from _grouped(
            ((step, key, math.nan if value is None else value, stamp * 10**6) for step, key, value, stamp in found),
            str(path),
        )


def read_mlflow_folder(path: Path) -> Iterator[MetricRow]:
    """Rows of a run's folder `metrics`, in which each metric has a file with time in ms, value and step a line."""
    yield from _grouped(_mlflow_points(path), str(path))


_LONGEST_INTEGER = 30  # characters of a step, a value or a time in milliseconds


def _mlflow_points(folder: Path) -> Iterator[tuple[int, str, float, Optional[int]]]:
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = file.relative_to(folder).as_posix()
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                words = line.split()
                number = as_number(words[1]) if len(words) >= 2 else None
                if any(len(each) > _LONGEST_INTEGER for each in words[:3]):
                    continue  # damaged, and Python refuses to read the longest
                if number is not None and words[0].isdecimal():
                    step = int(words[2]) if len(words) > 2 and words[2].lstrip("-").isdecimal() else 0
                    yield step, name, number, int(words[0]) * 10**6


def read_wandb_run(address: str) -> Iterator[MetricRow]:
    """Rows of a run on wandb's server: `wandb://entity/project/run`.

    Raises:
        MetricFileError: no wandb is installed beside the doctor, or it says why it cannot read the run.

    """
    try:
        wandb: Any = importlib.import_module("wandb")
    except ImportError:
        raise MetricFileError(
            f"{address}: needs `wandb` beside the doctor: pip install 'grpo-doctor[trackers]'"
        ) from None
    try:
        for told in wandb.Api(timeout=20).run(address[len("wandb://") :].strip("/")).scan_history():
            step = told.get("_step")
            row = row_of(step if isinstance(step, int) else None, told, address)
            if row is not None:
                yield row
    except Exception as error:  # noqa: BLE001 - wandb raises errors of its own, of requests and of its keys
        raise MetricFileError(f"{address}: {type(error).__name__}: {error}") from None


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """A SQLite file, read as it stands."""
    try:
        with ExitStack() as stack:
            yield Reader(str(path)).connection(stack)
    except (DumpNotReadable, sqlite3.Error) as error:
        raise MetricFileError(f"{path}: {error}") from None


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def reader_of_database(path: Path) -> Optional[Callable[[Path], Iterator[MetricRow]]]:
    """What reads a SQLite file: trackio's or MLflow's, by the columns of its table of metrics; None for others."""
    try:
        with _database(path) as connection:
            columns = _columns(connection, "metrics")
    except MetricFileError:
        return None
    if {"metrics", "step", "run_name"} <= columns:
        return read_trackio
    return read_mlflow_database if {"key", "value", "step", "run_uuid", "timestamp", "is_nan"} <= columns else None


def _time_ns(stamp: Any) -> Optional[int]:
    try:
        return int(datetime.fromisoformat(str(stamp).replace("Z", "+00:00")).timestamp() * 1e9)
    except ValueError:
        return None
