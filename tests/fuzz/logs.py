"""Damaged logs, rollouts, dumps and archives of them, and the command that reads each."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from damage import as_json, damaged

TRACE = 'Traceback (most recent call last):\n  File "/a/train.py", line 3, in <module>\n    f()\n'
LOG = "".join(f"{{'loss': {each / 9}, 'reward': 0.5, 'kl': 0.1, 'epoch': {each}}}\n" for each in range(40))
LOG += f"vLLM API server version 0.8.5\n{TRACE}RuntimeError: CUDA error: out of memory\n[rank1]: {TRACE}ValueError: x\n"
ROLLOUT = {"input": "a", "output": "b", "gts": "c", "score": 1.0, "step": 1}
EXPERIENCE = {
    "eid": {"batch": 1, "task": 2, "run": 3},
    "reward": 1.0,
    "messages": [{"role": "a", "content": "b"}],
    "metrics": {},
}


def a_dump(r: random.Random) -> bytes:
    shared: object = ["x"]
    for _ in range(r.choice([0, 3, 60])):
        shared = [shared, shared]
    entry = {"process_group": ("0", shared), "collective_seq_id": 3, "state": "scheduled",
             "profiling_name": "nccl:all_reduce", "time_created_ns": 1, "input_sizes": [[4]], "input_dtypes": [shared],
             "frames": [{"filename": shared, "line": 1}]}  # fmt: skip
    return damaged(r, pickle.dumps({"version": "2.4", "entries": [entry], "pg_status": {"0": {}}}, protocol=2))


def an_archive(r: random.Random, folder: Path) -> Path:
    kind = r.choice(["zip", "tar", "tar.gz", "tar.xz", "gz", "xz", "bz2"])
    content, raw = damaged(r, LOG.encode()) * r.choice([1, 1, 200]), io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(raw, "w", r.choice([0, 8, 12, 14])) as packed:
            for each in range(3):
                packed.writestr(r.choice(["a.log", f"x/{each}.log", "../b.log", "a.log/c.log"]), content)
    elif kind.startswith("tar"):
        with tarfile.open(fileobj=raw, mode="w:" + kind[4:]) as tar:  # type: ignore[call-overload]
            for each in range(3):
                member = tarfile.TarInfo(r.choice(["a.log", f"{each}/" * r.choice([1, 90]) + "a.log", "n" * 300]))
                member.size, member.type = len(content), r.choice([b"0", b"0", b"L", b"x", b"5"])
                tar.addfile(member, io.BytesIO(content))
    else:
        raw.write({"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[kind](content))
    path = folder / (f"a.{kind}" if kind.startswith(("zip", "tar")) else f"a.log.{kind}")
    path.write_bytes(damaged(r, raw.getvalue()))
    return path


def of_log(r: random.Random, folder: Path) -> list[str]:
    name = r.choice(["a.log", "a.txt", "a.json", "a.ipynb", "a.md", "a.csv", "trainer_state.json"])
    (folder / name).write_bytes(damaged(r, LOG.encode() * r.choice([1, 1, 30])))
    return ["postmortem", str(folder / name)]


def of_rollouts(r: random.Random, folder: Path) -> list[str]:
    rows = [as_json(r, r.choice([ROLLOUT, EXPERIENCE])).replace(b"\n", b" ") for _ in range(15)]
    (folder / "1.jsonl").write_bytes(b"\n".join(rows))
    return ["postmortem", str(folder)]


def of_dump(r: random.Random, folder: Path) -> list[str]:
    (folder / "nccl_trace_rank_0").write_bytes(a_dump(r))
    (folder / "nccl_trace_rank_1").write_bytes(a_dump(r))
    return ["postmortem", str(folder)]


def of_archive(r: random.Random, folder: Path) -> list[str]:
    return ["postmortem", str(an_archive(r, folder))]


def of_notebook(r: random.Random, folder: Path) -> list[str]:
    output = r.choice([
        {"output_type": "stream", "name": "stderr", "text": LOG.splitlines(keepends=True)},
        {"output_type": "error", "ename": "E", "evalue": "x", "traceback": TRACE.splitlines()},
        {"output_type": "display_data", "data": {"text/html": [LOG]}},
    ])  # fmt: skip
    cell = {"cell_type": "code", "source": ["from trl import GRPOConfig\n", "!ls"], "outputs": [output]}
    (folder / "a.ipynb").write_bytes(as_json(r, {"cells": [cell] * 3, "nbformat": 4, "metadata": {}}))
    return r.choice([["postmortem", str(folder / "a.ipynb")], ["check", "--", "jupyter", "nbconvert", "a.ipynb"]])


def of_records(r: random.Random, folder: Path) -> list[str]:
    """Lines of a JSON logger, with what every further file of a post-mortem is written to."""
    line = {"time": "2026-03-01T10:00:00Z", "level": "ERROR", "message": "x", "exc_info": TRACE + "ValueError: x"}
    rows = [as_json(r, line).replace(b"\n", b" ") for _ in range(30)]
    (folder / "a.log").write_bytes(b"\n".join(rows))
    out = {"--html": "o.html", "--metrics-csv": "o.csv", "--bundle": "o.tar.gz"}
    return ["postmortem", str(folder / "a.log"), *(word for pair in r.sample(sorted(out.items()), 2) for word in pair)]


def of_words(r: random.Random, _folder: Path) -> list[str]:
    text = damaged(r, f"{TRACE}ValueError: x".encode())[:4000].decode("utf-8", "surrogateescape")
    return ["explain", text.replace("\0", "").lstrip("-") or "x"]


MAKERS: list[Callable[[random.Random, Path], list[str]]] = [
    of_log, of_rollouts, of_dump, of_archive, of_notebook, of_records, of_words,
]  # fmt: skip
