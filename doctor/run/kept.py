"""What a run was started from, kept in its folder: code, the files that its command names, and prints of its data.

What two runs differ in can be said afterwards only of what was kept at their start. Everything is bounded, redacted,
and left out where it takes too long; a missing file says that it was not looked at.
"""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from doctor.base.asking import answer
from doctor.base.redact import redact, redact_text
from doctor.run.folder import RunDir

SCHEMA = "doctor-made-of/1"
FILE, COPIES, DIFF = "made_of.json", "inputs", "code.diff"

#: a text of this size is kept whole; a diff up to that; files that a command names, and files of a folder of data
_MOST_TEXT, _MOST_DIFF, _MOST_FILES, _MOST_IN_FOLDER = 256 << 10, 256 << 10, 64, 10_000
#: what a print is made of: the beginning and the end of a file, which a change of its size or content reaches
_EDGE = 1 << 20
#: what git, and a folder of data, may take
_GIT_S, _FOLDER_S = 3.0, 2.0
#: files that are settings or code, and can be compared line by line
_TEXTS = frozenset({".py", ".yaml", ".yml", ".json", ".toml", ".sh", ".cfg", ".ini", ".slurm", ".sbatch"})


def keep(run: RunDir, argv: Sequence[str], cwd: Path) -> None:
    """Write what the command is made of.

    Raises:
        OSError: the folder cannot be written.

    """
    code = _code(run, cwd)
    files = [_file(run, number, word, path) for number, (word, path) in enumerate(_named(argv, cwd))]
    data = {"schema": SCHEMA, "code": code, "files": files}
    (run.path / FILE).write_text(json.dumps(redact(data, homes=False), indent=1) + "\n", "utf-8")


def read(run: RunDir) -> dict[str, Any]:
    """What was kept; empty where nothing was."""
    try:
        data = json.loads((run.path / FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and isinstance(data.get("files"), list) else {}


def _git(cwd: Path, *words: str) -> str | None:
    """What git says; None where it is not there, takes too long, or this is no work tree."""
    told = answer(["git", "--no-optional-locks", *words], seconds=_GIT_S, cwd=cwd)
    return None if told is None else told.decode("utf-8", "replace")


def _code(run: RunDir, cwd: Path) -> dict[str, Any]:
    """Revision and uncommitted changes of the work tree that the command was started in."""
    revision = _git(cwd, "rev-parse", "HEAD")
    if revision is None:
        return {}
    diff = _git(cwd, "diff", "HEAD", "--no-color", "--no-ext-diff")
    told: dict[str, Any] = {
        "revision": revision.strip(), "branch": (_git(cwd, "rev-parse", "--abbrev-ref", "HEAD") or "").strip(),
        "subject": (_git(cwd, "log", "-1", "--format=%s") or "").strip()[:200],
        "dirty": None if diff is None else bool(diff),
    }  # fmt: skip
    if diff:
        told["diff_sha256"] = hashlib.sha256(diff.encode("utf-8", "replace")).hexdigest()
        told["diff_whole"] = len(diff) <= _MOST_DIFF
        (run.path / DIFF).write_text(redact_text(diff[:_MOST_DIFF]), "utf-8")
    return told


def _named(argv: Sequence[str], cwd: Path) -> Iterator[tuple[str, Path]]:
    """(word, path) of the files and folders that a command names: `train.py`, `--config a.yaml`, `data=x.jsonl`."""
    seen: set[Path] = set()
    for word in argv[1:]:
        for part in (word, word.partition("=")[2]):
            path = cwd / part if part and len(part) < 4096 and "\n" not in part else None
            try:
                there = path is not None and path.exists() and path.resolve() not in seen
            except (OSError, ValueError):
                there = False
            if there and path is not None and len(seen) < _MOST_FILES and part not in (".", "/", ".."):
                seen.add(path.resolve())
                yield part, path


def _file(run: RunDir, number: int, word: str, path: Path) -> dict[str, Any]:
    """One file or folder: its print, and of a small text a copy."""
    try:
        if path.is_dir():
            return {"word": word, "kind": "folder", **_of_folder(path)}
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # what is read from a pipe is gone for the command
            return {"word": word, "kind": "unread", "reason": "not a regular file"}
        size = about.st_size
        told: dict[str, Any] = {"word": word, "kind": "file", "bytes": size, "print": fingerprint(path)}
        if path.suffix in _TEXTS and size <= _MOST_TEXT:
            (run.path / COPIES).mkdir(exist_ok=True)
            name = f"{COPIES}/{number:02}-{path.name}"
            (run.path / name).write_text(redact_text(path.read_text("utf-8", "replace")), "utf-8")
            told["copy"] = name
    except OSError as exc:
        return {"word": word, "kind": "unread", "reason": exc.strerror}
    return told


def fingerprint(path: Path) -> str:
    """SHA-256 of size, first and last MiB of a file.

    Raises:
        OSError: it cannot be read.

    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_EDGE))
        if size > _EDGE:
            file.seek(max(_EDGE, size - _EDGE))
            digest.update(file.read(_EDGE))
    return digest.hexdigest()


def _of_folder(path: Path) -> dict[str, Any]:
    """Names and sizes of its files, the first ten thousand in order: a print of what is there, not of every byte."""
    digest, count, total = hashlib.sha256(), 0, 0
    until = time.monotonic() + _FOLDER_S
    for each in sorted(path.rglob("*")):
        if not each.is_file():
            continue
        size = each.stat().st_size
        digest.update(f"{each.relative_to(path)}\0{size}\n".encode("utf-8", "surrogateescape"))
        count, total = count + 1, total + size
        if count >= _MOST_IN_FOLDER or time.monotonic() > until:
            return {"files": count, "bytes": total, "print": None}
    return {"files": count, "bytes": total, "print": digest.hexdigest()}
