"""Metrics where trackers keep them: the same series, whatever wrote it, and no damage that costs more than its own row."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.logs.metrics.files import MetricFileError
from doctor.logs.metrics.sources import in_folder, metric_file

#: what Transformers hands to a tracker: its own names behind `train/`
ROWS: list[dict[str, float]] = [
    {
        "train/loss": 1 / step,
        "train/grad_norm": math.nan if step == 4 else 0.5,
        "train/reward": 0.0 if step == 1 else 0.1 * step,
    }
    for step in range(1, 9)
]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: float | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tf_record(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + b"\0" * 4 + data + b"\0" * 4


def leveldb(records: list[bytes], head: bytes) -> bytes:
    """LevelDB's log format, whose records are cut where a block of 32 KiB ends."""
    out = bytearray(head)
    for record in records:
        rest, first = record, True
        while rest or first:
            left = 32_768 - len(out) % 32_768
            if left < 7:
                out += b"\0" * left
                continue
            part, rest = rest[: left - 7], rest[left - 7 :]
            kind = 1 if first and not rest else 2 if first else 3 if rest else 4
            out += struct.pack("<IHB", 0, len(part), kind) + part
            first = False
    return bytes(out)


def tensorboard(folder: Path) -> Path:
    path = folder / "runs" / "Nov23" / "events.out.tfevents.1795447870.host.1.0"
    path.parent.mkdir(parents=True)
    records = [field(1, 1.0) + field(3, b"brain.Event:2")]
    for step, row in enumerate(ROWS, 1):
        for name, value in row.items():
            scalar = varint(2 << 3 | 5) + struct.pack("<f", value)
            summary = field(1, field(1, name.encode()) + scalar)
            records.append(field(1, 1.7e9 + step) + field(2, step) + field(5, summary))
    path.write_bytes(b"".join(map(tf_record, records)))
    return path


def wandb(folder: Path) -> Path:
    path = folder / "wandb" / "offline-run-20261123_150000-abc" / "run-abc.wandb"
    path.parent.mkdir(parents=True)
    records = [field(1, 1) + field(17, b"")]
    for step, row in enumerate(ROWS, 1):
        told = {**row, "train/global_step": step, "note": "x" * (40_000 if step == 5 else 1)}
        items = [
            field(1, field(2, name.encode()) + field(16, json.dumps(value).encode())) for name, value in told.items()
        ]
        records.append(field(1, step) + field(2, b"".join(items) + field(2, field(1, step - 1))))
    path.write_bytes(leveldb(records, b":W&B\xe1\xbe\0"))
    return path


def swanlab(folder: Path) -> Path:
    path = folder / "swanlog" / "run-20261123_150000-abc" / "run-abc.swanlab"
    path.parent.mkdir(parents=True)
    records = []
    for step, row in enumerate(ROWS, 1):
        for name, value in row.items():
            scalar = field(1, value) if value else b""  # a zero is left out
            records.append(field(13, field(1, name.encode()) + field(2, step) + field(3, 1) + field(5, scalar)))
    path.write_bytes(leveldb(records, b":SWL\xd6\xe1\x02"))
    return path


def trackio(folder: Path) -> Path:
    path = folder / "trackio" / "project.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,"
            " run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL)"
        )
        for run, rows in (("old", [{"train/loss": 99.0}] * 3), ("new", ROWS)):
            for step, row in enumerate(rows, 1):
                text = json.dumps({name: "NaN" if math.isnan(value) else value for name, value in row.items()})
                stamp = f"2026-11-23T15:31:{step:02}+00:00"
                connection.execute("INSERT INTO metrics VALUES (NULL, ?, ?, ?, ?, ?)", (run, stamp, run, step, text))
    connection.close()
    return path


def mlflow_database(folder: Path) -> Path:
    path = folder / "mlflow.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN)"
        )
        connection.execute("INSERT INTO metrics VALUES ('train/loss', 99.0, 1, 'old', 1, 0)")
        for step, row in enumerate(ROWS, 1):
            for name, value in row.items():
                nan = math.isnan(value)
                told = (name, 0.0 if nan else value, 1_700_000_000_000 + step, "new", step, nan)
                connection.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", told)
    connection.close()
    return path


def mlflow_folder(folder: Path) -> Path:
    path = folder / "mlruns" / "1" / "abc" / "metrics"
    (path / "train").mkdir(parents=True)
    (path.parent / "params").mkdir()
    (path.parent / "meta.yaml").write_text("run_id: abc\n")
    for name in ROWS[0]:
        lines = (f"{1_700_000_000_000 + step} {row[name]} {step}\n" for step, row in enumerate(ROWS, 1))
        (path / name).write_text("".join(lines))
    return path


def verl_file(folder: Path) -> Path:
    path = folder / "experiment.jsonl"
    lines = (json.dumps({"step": step, "data": row}) for step, row in enumerate(ROWS, 1))
    path.write_text(
        "".join(
            f"{line.replace('train/', 'actor/').replace('actor/loss', 'actor/pg_loss').replace('actor/reward', 'critic/score/mean')}\n"
            for line in lines
        )
    )
    return path


def wide_csv(folder: Path) -> Path:
    path = folder / "history.csv"
    body = "".join(
        f"{step},{row['train/loss']!r},{row['train/grad_norm']!r},{row['train/reward']!r},base\n"
        for step, row in enumerate(ROWS, 1)
    )
    path.write_text("Step,loss,grad_norm,reward,notes\n" + body)
    return path


WRITERS = [tensorboard, wandb, swanlab, trackio, mlflow_database, mlflow_folder, verl_file, wide_csv]


def as_dicts(path: Path | str) -> list[tuple[int | None, dict[str, float]]]:
    source = metric_file(str(path))
    assert source is not None
    return [(row.step, dict(zip(row.names, row.values, strict=True))) for row in source.rows()]


@pytest.mark.parametrize("write", WRITERS, ids=lambda each: each.__name__)
def test_every_place_tells_the_same_series(write: Callable[[Path], Path], tmp_path: Path) -> None:
    told = as_dicts(write(tmp_path))
    assert [step for step, _ in told] == list(range(1, 9))
    for (_, row), wanted in zip(told, ROWS, strict=True):
        assert list(row) == ["loss", "grad_norm", "reward"]
        assert list(row.values()) == pytest.approx(list(wanted.values()), rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("write", WRITERS, ids=lambda each: each.__name__)
def test_it_is_found_in_the_folder_of_the_run(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path)
    if write is wide_csv:  # a table may be anything: it is read where it is named
        return
    assert [each.path for each in in_folder(str(tmp_path))] == [str(path)]


def test_of_each_tracker_the_newest(tmp_path: Path) -> None:
    import os

    old, new = wandb(tmp_path / "a"), wandb(tmp_path / "b")
    os.utime(old, (1, 1))
    assert [each.path for each in in_folder(str(tmp_path))] == [str(new)]


@pytest.mark.parametrize("write", [tensorboard, wandb, swanlab, verl_file], ids=lambda each: each.__name__)
def test_a_file_that_ends_in_a_record_tells_what_is_whole(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path)
    whole = path.read_bytes()
    before = as_dicts(path)
    for cut in range(len(whole) - 1, len(whole) - 60, -7):
        path.write_bytes(whole[:cut])
        told = as_dicts(path)
        assert repr([row for _, row in told[:-1]]) == repr([row for _, row in before[: len(told)][: len(told) - 1]])
        assert len(told) >= 7


def _mangled(data: bytes) -> Iterator[bytes]:
    for place in range(0, len(data), max(1, len(data) // 60)):
        yield data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


@pytest.mark.parametrize("write", WRITERS, ids=lambda each: each.__name__)
def test_damage_is_an_error_of_its_own_or_none(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path)
    if path.is_dir():
        path = path / "train" / "loss"
    whole = path.read_bytes()
    for data in _mangled(whole):
        path.write_bytes(data)
        source = metric_file(str(path))
        try:
            rows = list(source.rows()) if source is not None else []
        except MetricFileError:  # with its path and reason: see below
            continue
        assert all(len(row.names) == len(row.values) for row in rows)


def test_an_error_names_the_file_and_the_reason(tmp_path: Path) -> None:
    path = wandb(tmp_path)
    path.write_bytes(leveldb([field(2, b"")[:-1] + b"\x7f"], b":W&B\xe1\xbe\0"))
    source = metric_file(str(path))
    assert source is not None
    with pytest.raises(MetricFileError, match=r"run-abc\.wandb: record 1 is damaged: a field goes beyond"):
        list(source.rows())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.csv", "epoch,note\n1,x\n"),
        ("prices.csv", "step,price\n1,2\n"),
        ("rollouts.jsonl", '{"input": "a", "output": "b", "score": 1}\n'),
        ("data.db", "not a database"),
        ("run-x.wandb", "nothing"),
        ("events.out.tfevents.py", "import tensorboard"),
    ],
)
def test_other_files_are_left_alone(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert metric_file(str(tmp_path / name)) is None
    assert in_folder(str(tmp_path)) == []


def test_a_run_on_the_server_needs_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)
    source = metric_file("wandb://me/project/abc")
    assert source is not None
    with pytest.raises(MetricFileError, match=r"grpo-doctor\[trackers\]"):
        list(source.rows())


def test_a_run_on_the_server_is_read_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    class Api:
        def __init__(self, **_: Any) -> None:
            pass

        def run(self, path: str) -> Any:
            assert path == "me/project/abc"
            return self

        def scan_history(self) -> Iterator[dict[str, Any]]:
            yield from ({**row, "train/global_step": step, "_step": step - 1} for step, row in enumerate(ROWS, 1))

    monkeypatch.setitem(__import__("sys").modules, "wandb", __import__("types").SimpleNamespace(Api=Api))
    assert [step for step, _ in as_dicts("wandb://me/project/abc")] == list(range(1, 9))
