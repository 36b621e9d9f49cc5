"""Facts in a file: written redacted, read back, recognised by content; pasted reports are read as facts too."""

from __future__ import annotations

import importlib
import json
import math
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

import doctor
from doctor.base.codec import dump, load
from doctor.base.evidence import Observed
from doctor.base.json_text import json_text
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.base.redact import redact, redact_text
from doctor.readers.homes import READERS

SCHEMA = "doctor-facts/1"
_LARGEST_BYTES = 64 << 20  # a pasted report is kilobytes; a facts file of a large node some hundred


class NotFacts(Exception):  # noqa: N818 - the user's file is at fault, the message says how
    """The file is neither a facts file nor a report that the doctor knows."""


@record
class Saved:
    """Facts of one host, from a file."""

    name: str
    host: str | None
    states: Mapping[str, Observed] = field(default_factory=dict)


def fact_names() -> tuple[str, ...]:
    """Every fact there is."""
    return tuple(sorted(READERS))


@cache
def fact_type(name: str) -> type:
    """The dataclass of a fact."""
    class_name = "".join(part.title() for part in name.split("_"))
    found: type = getattr(importlib.import_module(f"doctor.facts.{name}"), class_name)
    return found


def as_json(states: Mapping[str, Observed]) -> dict[str, Any]:
    """The facts file: DESIGN's `doctor-facts/1`, redacted.

    `target` is left out: `interpreter` and `packages` say all that it holds.
    """
    import socket

    facts = {
        name: {
            "status": state.status,
            "value": redact(dump(state.value)) if state.status == "ok" else None,
            "reason": redact_text(state.reason),
            "source": state.source,
            **({} if state.applies else {"applies": False}),
        }
        for name, state in sorted(states.items())
        if name != "target"
    }
    return {
        "schema": SCHEMA,
        "host": socket.gethostname(),
        "captured_ns": time.time_ns(),
        "doctor_version": doctor.__version__,
        "facts": facts,
    }


def save(states: Mapping[str, Observed], path: Path) -> None:
    """Write a facts file.

    Raises:
        OSError: the folder cannot be written.

    """
    write(as_json(states), path)


def write(data: Mapping[str, Any], path: Path) -> None:
    """Write JSON by rename, so that a reader never sees half of it; hosts of one folder may have equal process ids.

    Raises:
        OSError: the folder cannot be written.

    """
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        temporary.write_text(json_text(data, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> list[Saved]:
    """Facts of a facts file, of every facts file in a folder, or of a pasted report.

    Raises:
        NotFacts: nothing in it is recognised; says what was looked for.
        OSError: it cannot be read.

    """
    if path.is_dir():
        found = [each for file in sorted(path.glob("*.json")) for each in read(file)]
        if not found:
            msg = f"`{path}` holds no facts file (*.json written by `doctor check --save-facts`)"
            raise NotFacts(msg)
        return found
    text = read_text(path)
    if text.lstrip().startswith("{") and f'"{SCHEMA.partition("/")[0]}/' in text[:4096]:
        return [_from_json(text, path)]
    return [_from_report(text, path)]


def read_text(path: Path) -> str:
    """Text of a report or facts file, whatever Unicode it is in.

    Raises:
        NotFacts: it is no regular file, or larger than any report.
        OSError: it cannot be read.

    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        msg = f"`{path}` is not a regular file"
        raise NotFacts(msg)
    if found.st_size > _LARGEST_BYTES:
        msg = f"`{path}` has {found.st_size >> 20} MiB; reports are read up to {_LARGEST_BYTES >> 20} MiB"
        raise NotFacts(msg)
    data = path.read_bytes()
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return data.decode("utf-8", "replace")


#: half of a pair, which is no character and which no output can hold
_LONE_SURROGATE = later(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def parsed(text: str) -> Any:
    """JSON as this doctor writes it: no NaN, no infinite numbers, no halves of characters, and not without end.

    Raises:
        ValueError: it is no such JSON.

    """
    try:
        return _DECODER.decode(_LONE_SURROGATE.sub(r"\\ufffd", text) if "\\u" in text else text)
    except RecursionError:
        msg = "it is nested deeper than any facts file"
        raise ValueError(msg) from None


def _refuse(constant: str) -> Any:
    msg = f"{constant} is no number"
    raise ValueError(msg)


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refuse(text[:20])


#: one for all: a folder may hold the facts of thousands of nodes
_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def check_head(head: Any, path: Path) -> None:
    """See that the head of a facts file says what it says in the types that are written.

    Raises:
        NotFacts: it is of another schema.
        ValueError: a value has a type that no doctor wrote.

    """
    if head["schema"] != SCHEMA:
        msg = f"`{path}` has schema `{str(head['schema'])[:60]}`; this doctor reads `{SCHEMA}`"
        raise NotFacts(msg)
    wanted = {"host": str, "captured_ns": int, "doctor_version": str, "clock": dict}
    for name, kind in wanted.items():
        value = head.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            msg = f"`{name}` is of type {type(value).__name__}"
            raise ValueError(msg)
    if abs(head.get("captured_ns") or 0) >= 1 << 63:
        msg = "`captured_ns` is not a time"
        raise ValueError(msg)
    for name, value in (head.get("clock") or {}).items():
        if value is not None and isinstance(value, (dict, list, bool)):
            msg = f"`clock.{name}` is of type {type(value).__name__}"
            raise ValueError(msg)


def _from_json(text: str, path: Path) -> Saved:
    try:
        data = parsed(text)
        check_head(data, path)
        states = {name: state_from(name, each) for name, each in data["facts"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        msg = f"`{path}` is a damaged facts file: {type(exc).__name__}: {exc}"
        raise NotFacts(msg) from None
    return Saved(path.name, data.get("host"), states)


def state_from(name: str, data: Mapping[str, Any]) -> Observed:
    """A state as saved; a fact of another doctor version that no longer fits is unavailable, not a crash."""
    status, reason, source = data["status"], str(data.get("reason", "")), str(data.get("source", ""))
    if status not in ("ok", "unavailable", "timeout"):
        return Observed.unseen(f"the saved `{name}` cannot be read: it has no known status")
    if status != "ok":
        applies = data.get("applies", True) is not False
        return Observed.unseen(reason, source=source, applies=applies, late=status == "timeout")
    try:
        return Observed.seen(load(fact_type(name), data["value"]), source=source)
    except Exception as exc:  # noqa: BLE001 - a value that no doctor wrote costs this fact, whatever reading it raises
        return Observed.unseen(f"the saved `{name}` cannot be read: {exc}")


def _from_report(text: str, path: Path) -> Saved:
    from doctor.readers.pasted import read_report

    states = read_report(text, path.name)
    if not states:
        msg = (
            f"nothing in `{path}` is recognised. The doctor reads its own facts files and the output of collect_env, "
            "`trl env`, `transformers env`, `accelerate env`, `ds_report`, `pip list`, `conda list` and `nvidia-smi`"
        )
        raise NotFacts(msg)
    return Saved(path.name, None, states)
