"""The file of one process in the run folder: bounded, redacted, replaced by rename."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from doctor.base.redact import redact_text
from doctor.monitors.capsule import process
from doctor.run.folder import RunDir, host_name

SCHEMA = "doctor-capsule/1"
#: folder of the run that holds the capsules
FOLDER = "capsules"
#: folder of the run that holds, below a name for each time, the capsules of a run that stood still
HANGS = "hangs"

_MOST_BYTES = 900_000
_LONGEST_TEXT = 8_000


def path_of(run: RunDir, suffix: str = ".json") -> Path:
    """The file of this process: `<role>-rank<k>-<host>-<pid>.json`; without a rank where it has none."""
    rank = process.rank()
    parts = [process.role(), f"rank{rank}" if rank is not None else "", host_name(), str(os.getpid())]
    return run.path / FOLDER / ("-".join(each for each in parts if each) + suffix)


def write(path: Path, capsule: dict[str, Any]) -> None:
    """Write a capsule, or nothing.

    Raises:
        OSError: the folder cannot be written.

    """
    text = bounded(capsule)
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.write_text(text, encoding="utf-8")
    made.replace(path)


def bounded(capsule: dict[str, Any]) -> str:
    """The capsule as JSON below the bound: what says least goes first."""
    text = _text(capsule)
    for cut in (_without_threads, _without_outer_values, _without_values):
        if len(text) <= _MOST_BYTES:
            return text
        cut(capsule)
        capsule.setdefault("trouble", []).append("cut: the capsule was larger than its bound")
        text = _text(capsule)
    if len(text) > _MOST_BYTES:
        text = _text({key: capsule.get(key) for key in ("schema", "captured_ns", "seconds", "trouble")} | {
            "process": {}, "failures": [], "configs": [], "modules": [], "stands": None})  # fmt: skip
    return text


def _text(capsule: dict[str, Any]) -> str:
    return (
        json.dumps(_clean(capsule), ensure_ascii=True, allow_nan=False, default=lambda each: type(each).__name__) + "\n"
    )


def _clean(value: Any) -> Any:
    """JSON's values with their text redacted and cut; what is not finite becomes text."""
    if type(value) is str:
        return redact_text(value[:_LONGEST_TEXT])
    if type(value) is dict:
        return {str(key): _clean(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return [_clean(each) for each in value]
    if type(value) is float and not math.isfinite(value):
        return str(value)
    return value


def _without_threads(capsule: dict[str, Any]) -> None:
    capsule.get("process", {}).pop("threads", None)


def _frames(capsule: dict[str, Any]) -> list[list[dict[str, Any]]]:
    links = [link["frames"] for failure in capsule.get("failures", []) for link in failure["chain"]]
    stands = capsule.get("stands") or {}
    return [*links, stands.get("frames", [])]


def _without_outer_values(capsule: dict[str, Any]) -> None:
    for frames in _frames(capsule):
        for frame in frames[4:]:
            frame.pop("values", None)
            frame.pop("conditions", None)


def _without_values(capsule: dict[str, Any]) -> None:
    for frames in _frames(capsule):
        for frame in frames:
            frame.pop("values", None)
            frame.pop("conditions", None)
    capsule["configs"], capsule["modules"] = [], []
