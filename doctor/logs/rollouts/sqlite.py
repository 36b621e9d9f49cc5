"""Trinity-RFT's experience buffer in SQLite.

Tables are named by the user. Columns by release (`trinity/buffer/schema/sql_schema.py`):

- 0.1 and 0.2: `serialized_exp, prompt, response, reward, consumed, priority`
- 0.3: `prompt, response, message_list, reward, experience_bytes, consumed`
- 0.4: `timestamp, task_id, run_id, msg_id, model_version, experience_bytes, reward, consumed`
- 0.6: the same without the bytes, which stand in the table `<name>_blob`

https://github.com/modelscope/Trinity-RFT/blob/main/trinity/buffer/schema/sql_schema.py
The bytes hold a pickle, so they are never opened; of a "TRXP" record (0.6) the tensors' header behind the
pickle, which is JSON, tells the length of the answer:
https://github.com/modelscope/Trinity-RFT/blob/main/trinity/common/experience.py

A trainer may be writing. The file is opened `immutable`: no lock is taken, so no commit of the trainer's has to wait,
and nothing is written beside it. Rows that only stand in a write-ahead log are read from a copy of both files.
https://www.sqlite.org/uri.html https://www.sqlite.org/wal.html
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from doctor.base.scratch import Folder
from doctor.logs.rollouts.sample import DumpNotReadable, Sample, answer_of, episode_of, text_of

MAGIC = b"SQLite format 3\0"
_COPY_LIMIT_BYTES = 512 << 20
_BYTES = ("experience_bytes", "serialized_exp")
_RECORD = b"TRXP"
_RECORD_HEAD = 21  # magic, version (1 byte), lengths of pickle and tensors (8 bytes each)
_HEADER_LIMIT_BYTES, _RECORD_LIMIT_BYTES = 1 << 16, 1 << 31


def is_database(path: Path) -> bool:
    """Whether a file is SQLite's, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@dataclass(frozen=True)
class _Table:
    """A table of experiences and which of the known columns it has."""

    name: str
    columns: frozenset[str]

    def column(self, name: str) -> str:
        return name if name in self.columns else "NULL"


class Reader:
    """Samples of one database, table by table, row by row.

    Attributes:
        unread: rows whose answer is stored in a pickle alone.
        notes: sentences on what was not read.

    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.unread = 0
        self.notes: list[str] = []

    def tables(self) -> list[str]:
        """Names of the tables that hold experiences.

        Raises:
            DumpNotReadable: the database cannot be read.

        """
        with ExitStack() as stack:
            return [each.name for each in _tables(self.connection(stack))]

    def __iter__(self) -> Iterator[Sample]:
        """Read all rows once, oldest first.

        Raises:
            DumpNotReadable: the database cannot be read, or was written to while it was read.

        """
        with ExitStack() as stack:
            connection = self.connection(stack)
            for table in _tables(connection):
                yield from self._rows(connection, table)

    def connection(self, stack: ExitStack) -> sqlite3.Connection:
        """The database, opened for reading alone until the stack is left; nothing is written beside it.

        Raises:
            DumpNotReadable: it is no database, or cannot be opened.

        """
        path = Path(self.path)
        try:
            path = self._with_its_log(path, stack)
            uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            connection = stack.enter_context(closing(sqlite3.connect(uri, uri=True)))
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
        except (sqlite3.Error, OSError) as error:
            msg = f"it cannot be read: {error}"
            raise DumpNotReadable(msg) from None
        return connection

    def _with_its_log(self, path: Path, stack: ExitStack) -> Path:
        """The database, or a copy with the write-ahead log merged where there is one that fits."""
        if path.with_name(path.name + "-journal").exists():
            self.notes.append("a transaction was under way or was cut off, so the last rows may be incomplete")
        log = path.with_name(path.name + "-wal")
        if not log.exists() or not log.stat().st_size:
            return path
        if path.stat().st_size + log.stat().st_size > _COPY_LIMIT_BYTES:
            self.notes.append(f"the newest rows, in `{log.name}`, were not read")
            return path
        folder = Path(stack.enter_context(Folder("rollouts")))
        for each in (path, log):
            shutil.copyfile(each, folder / each.name)
        copy = folder / path.name
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode = DELETE")
        return copy

    def _rows(self, connection: sqlite3.Connection, table: _Table) -> Iterator[Sample]:
        stored = next((each for each in _BYTES if each in table.columns), None)
        wanted = ["id", "reward", "task_id", "run_id", "model_version", "prompt", "response", "message_list"]
        query = f"SELECT {', '.join(table.column(each) for each in wanted)} FROM {_quoted(table.name)} ORDER BY id"  # noqa: S608 - names from the schema, quoted
        told = "response" in table.columns
        lengths = None if told else _Lengths(connection, table.name, stored)
        try:
            for at, reward, task, run, version, prompt, response, messages in connection.execute(query):
                self.unread += not told
                yield Sample(
                    step=version if isinstance(version, int) else None,
                    group=_group(task, prompt),
                    run=run,
                    text=_answer(response, messages) if told else None,
                    reward=float(reward) if isinstance(reward, (int, float)) else math.nan,
                    file=self.path,
                    line=at,
                    tokens=lengths.of(at) if lengths is not None else None,
                    episode=episode_of({}, _messages(messages, response), reward),
                )
        except sqlite3.Error as error:
            msg = f"it was written to while it was read, or is damaged ({error})"
            raise DumpNotReadable(msg) from None


def _messages(messages: object, response: object) -> object:
    """The conversation where it was stored as JSON, else the answer's text."""
    if not isinstance(messages, str):
        return response
    try:
        return json.loads(messages)
    except (ValueError, RecursionError):
        return response


def _group(task: object, prompt: object) -> object:
    if isinstance(task, str) and task not in ("", "None"):
        return task
    return hash(prompt) if isinstance(prompt, str) and prompt else None


def _answer(response: object, messages: object) -> str | None:
    if isinstance(response, str):
        return response
    if not isinstance(messages, str):
        return None
    try:
        return answer_of(json.loads(messages))
    except (ValueError, RecursionError):
        return text_of(messages)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    """Tables with a reward, a count of uses, and the bytes of the experience here or in `<name>_blob`."""
    try:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        found = []
        for name in names:
            rows = connection.execute(f"PRAGMA table_info({_quoted(name)})")
            columns = frozenset(str(row[1]) for row in rows)
            has_bytes = bool(columns & set(_BYTES)) or f"{name}_blob" in names
            if {"id", "reward", "consumed"} <= columns and has_bytes:
                found.append(_Table(name, columns))
    except sqlite3.Error as error:
        msg = f"it cannot be read: {error}"
        raise DumpNotReadable(msg) from None
    return found


class _Lengths:
    """Lengths of answers in tokens, from the header of the tensors; None where a record is of another kind.

    One row in `EVERY` is looked up: the bytes of a row are some hundred times larger than its other columns.
    """

    EVERY = 8

    def __init__(self, connection: sqlite3.Connection, table: str, stored: str | None) -> None:
        name, column = (table, stored) if stored else (f"{table}_blob", _BYTES[0])
        self._query = f"SELECT substr({column}, ?, ?) FROM {_quoted(name)} WHERE id = ?"  # noqa: S608 - as above
        self._connection = connection
        self._on = True

    def of(self, at: int) -> int | None:
        if not self._on or at % self.EVERY:
            return None
        head = self._part(at, 1, _RECORD_HEAD)
        if len(head) < _RECORD_HEAD or not head.startswith(_RECORD):
            self._on = False
            return None
        tensors = _RECORD_HEAD + int.from_bytes(head[5:13], "little")
        size = int.from_bytes(self._part(at, tensors + 1, 8), "little")
        if not 0 < size <= _HEADER_LIMIT_BYTES:
            return None
        return _answer_tokens(self._part(at, tensors + 9, size))

    def _part(self, at: int, start: int, size: int) -> bytes:
        if start > _RECORD_LIMIT_BYTES:
            return b""
        row = self._connection.execute(self._query, (start, size, at)).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else b""


def _answer_tokens(header: bytes) -> int | None:
    """Length of the log-probabilities or of the mask over the answer, as the tensors' header names it."""
    try:
        tensors = json.loads(header)
        for name in ("0:logprobs", "0:action_mask"):
            if name in tensors:
                return int(tensors[name]["shape"][0])
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    return None
