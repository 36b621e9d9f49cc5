"""Writes rollout dumps as the frameworks do: the layouts are those of their sources, the rows are made up."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

STEPS, PROMPTS, TRIES = 12, 4, 4
Answer = Callable[[Random, int, int], tuple[str, float | None]]  # (random, step, attempt) -> (text, reward)


def good(random: Random, step: int, attempt: int) -> tuple[str, float]:  # noqa: ARG001 - one shape for all
    words = " ".join(random.choice(["add", "carry", "so", "then", "7", "12", "check"]) for _ in range(60))
    return f"<think>{words}</think> {random.randint(1, 99)}", float(random.random() < 0.5)


def rows(answer: Answer, count: int = STEPS) -> Iterator[tuple[int, int, int, str, str, float | None]]:
    """(step, prompt, attempt, question, text, reward)."""
    random = Random(7)  # noqa: S311 - noise, not a secret
    for step in range(1, count + 1):
        for prompt in range(PROMPTS):
            for attempt in range(TRIES):
                yield step, prompt, attempt, f"What is {step} + {prompt}?", *answer(random, step, attempt)


def verl(folder: Path, answer: Answer = good, count: int = STEPS, **columns: Any) -> Path:
    """`<step>.jsonl` as `_dump_generations` of veRL 0.6 writes it; a column may be a function of the text."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[int, list[str]] = {}
    for step, _, _, question, text, reward in rows(answer, count):
        more = {name: each(text) if callable(each) else each for name, each in columns.items()}
        row = {"input": question, "output": text, "gts": "3", "score": reward, "step": step, **more}
        files.setdefault(step, []).append(json.dumps(row, ensure_ascii=False))
    for step, lines in files.items():
        (folder / f"{step}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def trinity_lines(path: Path, answer: Answer = good, **more: Any) -> Path:
    """One experience a line as `FileStorage.write` of Trinity-RFT 0.6 does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for step, prompt, attempt, question, text, reward in rows(answer):
            eid = {"batch": step, "task": prompt, "run": attempt, "step": 0, "suffix": "a1b2c3"}
            row = {"eid": eid, "type": "single_turn", "prompt_length": 9, "response_length": len(text.split()) + 1,
                   "info": {}, "metrics": {}, "prompt_text": question, "response_text": text, "reward": reward,
                   **more}  # fmt: skip
            file.write(json.dumps(row) + "\n")
    return path


#: what `sqlite_master` of databases says that SQLAlchemy made from the classes of each release (0.3: by its source)
SCHEMAS = {
    "0.1.0": """CREATE TABLE exp_buffer (id INTEGER NOT NULL, serialized_exp BLOB, prompt VARCHAR, response VARCHAR,
        reward FLOAT, consumed INTEGER, priority FLOAT, PRIMARY KEY (id))""",
    "0.3.0": """CREATE TABLE exp_buffer (id INTEGER NOT NULL, prompt TEXT, response TEXT, message_list JSON,
        reward FLOAT, experience_bytes BLOB, consumed INTEGER, PRIMARY KEY (id))""",
    "0.4.0": """CREATE TABLE exp_buffer (id INTEGER NOT NULL, timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
        task_id VARCHAR(64), run_id INTEGER, msg_id VARCHAR(64), model_version INTEGER, experience_bytes BLOB,
        reward FLOAT, consumed INTEGER, PRIMARY KEY (id))""",
    "0.6.0": """CREATE TABLE exp_buffer (id INTEGER NOT NULL, timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
        task_id VARCHAR(64), run_id INTEGER, msg_id VARCHAR(64), model_version INTEGER, reward FLOAT, consumed INTEGER,
        PRIMARY KEY (id));
        CREATE TABLE exp_buffer_blob (id INTEGER NOT NULL, experience_bytes BLOB NOT NULL, PRIMARY KEY (id))""",
}


def record(tokens: int, pickled: bytes = b"\x80\x05N.") -> bytes:
    """A "TRXP" record as `Experience.serialize_many` of 0.6 lays it out: head, pickle, safetensors."""
    header = json.dumps(
        {"0:tokens": {"dtype": "I64", "shape": [10 + tokens], "data_offsets": [0, 8 * (10 + tokens)]},
         "0:logprobs": {"dtype": "F32", "shape": [tokens], "data_offsets": [0, 4 * tokens]}}
    ).encode()  # fmt: skip
    tensors = len(header).to_bytes(8, "little") + header + b"\0" * 12 * (10 + tokens)
    return (b"TRXP\x01" + len(pickled).to_bytes(8, "little") + len(tensors).to_bytes(8, "little")) + pickled + tensors


def trinity_database(path: Path, version: str, answer: Answer = good, blob: bytes | None = None) -> Path:
    """A database of Trinity-RFT's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(SCHEMAS[version])
        fill(connection, version, answer, blob)
    return path


def fill(connection: sqlite3.Connection, version: str, answer: Answer = good, blob: bytes | None = None) -> None:
    for step, prompt, attempt, question, text, reward in rows(answer):
        data = record(len(text.split())) if blob is None else blob
        if version == "0.1.0":
            values = {"serialized_exp": data, "prompt": question, "response": text, "reward": reward, "consumed": 0}
        elif version == "0.3.0":  # a talk of several turns has no response
            said = json.dumps([{"role": "user", "content": question}, {"role": "assistant", "content": text}])
            values = {
                "experience_bytes": data,
                "prompt": question,
                "message_list": said,
                "reward": reward,
                "consumed": 0,
            }
        else:
            values = {"task_id": str(prompt), "run_id": attempt, "msg_id": "a1", "model_version": step,
                      "reward": reward, "consumed": 0}  # fmt: skip
            values |= {"experience_bytes": data} if version == "0.4.0" else {}
        marks = ", ".join("?" * len(values))
        row = connection.execute(
            f"INSERT INTO exp_buffer ({', '.join(values)}) VALUES ({marks})",  # noqa: S608 - our own names
            tuple(values.values()),
        )
        if version == "0.6.0":
            connection.execute("INSERT INTO exp_buffer_blob VALUES (?, ?)", (row.lastrowid, data))


def trl(folder: Path, answer: Answer = good, count: int = STEPS, **functions: Callable[[str], float]) -> Path:
    """`completions_<step>.parquet` as GRPOTrainer of TRL 1.16 writes it with `log_completions=True`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "completions").mkdir(parents=True, exist_ok=True)
    steps: dict[int, list[dict[str, Any]]] = {}
    for step, _, _, question, text, reward in rows(answer, count):
        rewards = {name: each(text) for name, each in functions.items()} or {"reward_func": reward}
        advantage = (sum(rewards.values()) - 0.5) / 0.5
        steps.setdefault(step, []).append(
            {"step": step, "prompt": question, "completion": text, **rewards, "advantage": advantage}
        )
    for step, table in steps.items():
        pq.write_table(pa.Table.from_pylist(table), folder / "completions" / f"completions_{step:05d}.parquet")
    return folder
