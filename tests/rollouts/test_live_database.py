"""A trainer may be writing: it never waits for the doctor, nothing appears beside its files, no pickle is opened."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from doctor.logs.artifacts import read
from doctor.logs.rollouts.sqlite import Reader

from . import dumps as made

ALL = made.STEPS * made.PROMPTS * made.TRIES


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_writer_commits_while_the_doctor_reads(tmp_path: Path) -> None:
    path = made.trinity_database(tmp_path / "explorer_output.db", "0.6.0")
    reading = iter(Reader(str(path)))
    next(reading)
    with closing(sqlite3.connect(path, timeout=0)) as writer, writer:
        writer.execute("UPDATE exp_buffer SET consumed = 1")
    with closing(sqlite3.connect(path, timeout=0)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert len(list(Reader(str(path)))) == ALL, "a lock of the trainer's does not keep us waiting either"
    reading.close()


def test_rows_that_stand_in_the_write_ahead_log_alone(tmp_path: Path) -> None:
    path = tmp_path / "explorer_output.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.executescript(made.SCHEMAS["0.6.0"])
        made.fill(writer, "0.6.0")
        writer.commit()
        before = names(tmp_path)
        assert "explorer_output.db-wal" in before
        contents = {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")}
        assert len(list(Reader(str(path)))) == ALL
        assert names(tmp_path) == before
        assert all((tmp_path / name).read_bytes() == content for name, content in contents.items())


def test_a_log_too_large_to_be_copied_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "explorer_output.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.executescript(made.SCHEMAS["0.6.0"])
        writer.commit()
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        made.fill(writer, "0.6.0")
        writer.commit()
        monkeypatch.setattr("doctor.logs.rollouts.sqlite._COPY_LIMIT_BYTES", 1000)
        reader = Reader(str(path))
        assert not list(reader)
        assert "were not read" in reader.notes[0]


class Trap:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path(self.path),))

    def __init__(self, path: Path) -> None:
        self.path = str(path)


@pytest.mark.parametrize("version", ["0.1.0", "0.4.0", "0.6.0"])
def test_pickles_are_never_opened(tmp_path: Path, version: str) -> None:
    sprung = tmp_path / "sprung"
    bait = pickle.dumps(Trap(sprung))
    for number, blob in enumerate((bait, made.record(5, bait))):
        path = made.trinity_database(tmp_path / str(number) / "explorer_output.db", version, blob=blob)
        assert read([str(path)]).summary
        assert not sprung.exists()
    pickle.loads(bait)  # noqa: S301 - our own: the trap works
    assert sprung.exists()


@pytest.mark.parametrize("head", [b"TRXP\x01" + b"\xff" * 16, b"TRXP", b"", b"TRXP\x01" + b"\0" * 16 + b"{" * 300])
def test_records_of_any_bytes_are_borne(tmp_path: Path, head: bytes) -> None:
    path = made.trinity_database(tmp_path / "explorer_output.db", "0.6.0", blob=head)
    assert all(each.tokens is None for each in Reader(str(path)))


def test_tables_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE metrics (id INTEGER, reward FLOAT, value FLOAT)")
    assert read([str(tmp_path)]).files == ()
