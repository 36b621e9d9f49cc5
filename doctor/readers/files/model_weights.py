"""Sizes of a model's weight files and the number of parameters in them, without loading any.

The layout of a safetensors file: eight bytes with the header's length (little-endian), then the header as JSON
(https://github.com/huggingface/safetensors#format).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile
from doctor.base.record import distinct
from doctor.readers.script.python_source import SourceNotReadable, read_regular

LFS_POINTER = b"version https://git-lfs"
_POINTER_BYTES = 1024  # such a file has about 130 bytes
_INDEX_LIMIT_BYTES = 64 << 20
_HEADER_LIMIT_BYTES = 32 << 20
_HEADERS = 64  # shards whose headers are read when no index tells
_INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_SINGLE = ("model.safetensors", "adapter_model.safetensors", "pytorch_model.bin", "adapter_model.bin")
_PATTERNS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")
_NOT_WEIGHTS = ("training_args", "optimizer", "scheduler", "rng_state", "scaler", "consolidated")
_BYTES_PER = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}
_PLAIN_QUANTIZATION = frozenset({"fp8"})  # one stored number a parameter


@distinct
class WeightFiles:
    """What lies in a folder. `total_bytes` and `parameters` are None when nothing tells."""

    total_bytes: int | None = None
    parameters: int | None = None
    missing: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    broken: BrokenFile | None = None


def read(folder: Path, *, dtype: str | None, quantization: str | None) -> WeightFiles:
    """Look at the weight files that a library would load from a folder."""
    index, broken = _index(folder)
    names = _names(folder, index)
    sizes = {name: size for name in names if (size := _size(folder / name)) is not None}
    pointers = tuple(name for name in sizes if sizes[name] <= _POINTER_BYTES and _is_pointer(folder / name))
    whole = [name for name in sizes if name not in pointers]
    found = WeightFiles(
        total_bytes=sum(sizes[name] for name in whole) if whole else None,
        missing=tuple(name for name in names if name not in sizes),
        pointers=pointers,
        broken=broken,
    )
    if quantization is not None and quantization not in _PLAIN_QUANTIZATION:
        return found  # several parameters share a stored number
    found.parameters = _from_index(index, dtype)
    if found.parameters is None and whole and not found.missing and not pointers:
        found.parameters, damaged = _from_headers(folder, whole)
        found.broken = broken or damaged
    return found


def _index(folder: Path) -> tuple[dict[str, Any], BrokenFile | None]:
    for name in _INDEXES:
        path = folder / name
        if not path.is_file():
            continue
        try:
            content = json.loads(read_regular(str(path), _INDEX_LIMIT_BYTES))
        except json.JSONDecodeError as exc:
            return {}, BrokenFile(Place(str(path), exc.lineno, exc.colno), f"not JSON: {exc.msg}")
        except (SourceNotReadable, ValueError, RecursionError) as exc:
            return {}, BrokenFile(Place(str(path)), f"it cannot be read: {exc}")
        if isinstance(content, dict):
            return content, None
    return {}, None


def _names(folder: Path, index: dict[str, Any]) -> list[str]:
    """Files that make up the weights: those of the index, one well-known file, or all that look like weights."""
    listed = index.get("weight_map")
    if isinstance(listed, dict) and listed:
        return sorted({each for each in listed.values() if isinstance(each, str) and "/" not in each})
    for name in _SINGLE:
        if (folder / name).is_file():
            return [name]
    for pattern in _PATTERNS:
        found = sorted(each.name for each in folder.glob(pattern) if not each.name.startswith(_NOT_WEIGHTS))
        if found:
            return found
    return []


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size  # through the cache's symbolic link
    except OSError:
        return None


def _is_pointer(path: Path) -> bool:
    try:
        return read_regular(str(path), _POINTER_BYTES).startswith(LFS_POINTER)
    except SourceNotReadable:
        return False


def _from_index(index: dict[str, Any], dtype: str | None) -> int | None:
    metadata = index.get("metadata")
    if not isinstance(metadata, dict):
        return None
    counted, size = metadata.get("total_parameters"), metadata.get("total_size")
    if isinstance(counted, int) and counted > 0:
        return counted
    width = _BYTES_PER.get(dtype or "")
    return int(size) // width if isinstance(size, (int, float)) and size > 0 and width else None


def _from_headers(folder: Path, names: Iterable[str]) -> tuple[int | None, BrokenFile | None]:
    files = [folder / name for name in names]
    if len(files) > _HEADERS or any(each.suffix != ".safetensors" for each in files):
        return None, None
    total = 0
    for path in files:
        counted = _count(path)
        if isinstance(counted, BrokenFile):
            return None, counted
        total += counted
    return total or None, None


def _count(path: Path) -> int | BrokenFile:
    """Number of elements in a safetensors file."""
    try:
        if not path.is_file():
            return BrokenFile(Place(str(path)), "it is not a regular file")
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= _HEADER_LIMIT_BYTES:
                return BrokenFile(Place(str(path)), "not a safetensors file: its header has an impossible length")
            content = file.read(length)
        header = json.loads(content)
        shapes = [each["shape"] for name, each in header.items() if name != "__metadata__"]
        return sum(math.prod(map(int, shape)) for shape in shapes)
    except OSError as exc:
        return BrokenFile(Place(str(path)), f"it cannot be read: {(exc.strerror or 'input/output error').lower()}")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return BrokenFile(Place(str(path)), "not a safetensors file, or cut off within its header")
