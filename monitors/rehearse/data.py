"""Loaders of data: a bounded number of rows of what is large, the longest of the first ones among them.

What is small is loaded as it is, so that a broken row at its end is found. Of what is large the first rows are
streamed: the whole is neither downloaded nor converted. `select` beyond the rows that were kept wraps around, for the
script knows the real length.
https://huggingface.co/docs/datasets/stream
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal

#: bytes of local files that are loaded whole; rows kept of what is larger, and looked at for the longest
_WHOLE_BYTES = 32 << 20
KEPT, _LOOKED_AT = 256, 2048
_SLICE = re.compile(r"^([\w.-]+)\[.*\]$")
_STREAM_S = 60.0


class _Bounded:
    """Fingerprints of data that was cut, with the number of rows that it stands for."""

    lengths: ClassVar[dict[str, int]] = {}


def loaders(module: Any) -> None:
    """Stand around `load_dataset`; `datasets` gives the same function by its own name."""
    original = module.load_dataset

    @functools.wraps(original)
    def load_dataset(path: Any, *args: Any, **kwargs: Any) -> Any:
        with journal.phase("data"):
            if kwargs.get("streaming") or _is_small(path, kwargs):
                return original(path, *args, **kwargs)
            found = _bounded(original, path, args, kwargs)
            return original(path, *args, **kwargs) if found is None else found

    module.load_dataset = load_dataset


def datasets(module: Any) -> None:
    """Have indices beyond the rows that were kept wrap around, and mapping timed."""
    owner = module.Dataset
    owner.select, owner.map = _selecting(owner.select), _mapping(owner.map)
    owner.train_test_split = _splitting(owner.train_test_split)


def _selecting(original: Any) -> Any:
    @functools.wraps(original)
    def select(self: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        wanted = indices if isinstance(indices, Sequence) or not _is_cut(self) else list(indices)
        within = _within(self, wanted)
        return original(self, wanted if within is None else within, *args, **kwargs)

    return select


def _mapping(original: Any) -> Any:
    @functools.wraps(original)
    def timed_map(self: Any, *args: Any, **kwargs: Any) -> Any:
        began = time.monotonic()
        with journal.phase("data"):
            made = original(self, *args, **kwargs)
        _mapped(self, made, time.monotonic() - began)
        return made

    return timed_map


@journal.shielded
def _mapped(data: Any, made: Any, seconds: float) -> None:
    real = _Bounded.lengths.get(_key(data))
    if real is not None and hasattr(made, "_fingerprint"):
        _Bounded.lengths[_key(made)] = real
    journal.write("mapped", rows=len(data), seconds=seconds, stands_for=real)


def _splitting(original: Any) -> Any:
    @functools.wraps(original)
    def split(self: Any, *args: Any, **kwargs: Any) -> Any:
        _shares(self, kwargs)
        return original(self, *args, **kwargs)

    return split


@journal.shielded
def _shares(data: Any, wanted: dict[str, Any]) -> None:
    """Make numbers of rows for the parts of a split smaller than what was kept."""
    if _is_cut(data):
        for name in ("test_size", "train_size"):
            if isinstance(wanted.get(name), int) and wanted[name] >= len(data):
                wanted[name] = max(1, len(data) // 4)


@journal.shielded
def _is_cut(data: Any) -> bool:
    return _key(data) in _Bounded.lengths


def _key(data: Any) -> str:
    return str(getattr(data, "_fingerprint", id(data)))


@journal.shielded
def _within(data: Any, indices: Any) -> Any:
    """Indices of rows that were kept, for those of the real data."""
    real = _Bounded.lengths.get(_key(data))
    if real is None or not len(data):
        return indices
    wanted = [each for each in itertools.islice(indices, KEPT) if isinstance(each, int)]
    return [each % len(data) for each in wanted] if wanted and max(wanted) < max(real, len(data)) else indices


@journal.shielded
def _is_small(path: Any, kwargs: dict[str, Any]) -> bool:
    """Whether all the files are local and together small."""
    files = list(_files(path, kwargs.get("data_files"), kwargs.get("data_dir")))
    return bool(files) and sum(files) <= _WHOLE_BYTES


def _files(path: Any, data_files: Any, data_dir: Any) -> Iterator[int]:
    """Sizes in bytes of the local files that are meant."""
    named = [path] if not data_files else list(_flat(data_files))
    if data_dir:
        named = [os.path.join(str(data_dir), each) if data_files else str(data_dir) for each in named]
    for each in named:
        place = Path(str(each)).expanduser()
        if place.is_dir():
            yield from (inner.stat().st_size for inner in place.rglob("*") if inner.is_file())
        elif place.is_file():
            yield place.stat().st_size
        elif "*" in str(each) and "://" not in str(each):
            yield from (inner.stat().st_size for inner in Path().glob(str(each)) if inner.is_file())


def _flat(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        return [inner for each in value.values() for inner in _flat(each)]
    if isinstance(value, (list, tuple)):
        return [inner for each in value for inner in _flat(each)]
    return [str(value)]


@journal.shielded
def _bounded(original: Any, path: Any, args: Any, kwargs: dict[str, Any]) -> Optional[Any]:
    """The first rows of what is large, as a dataset; None where streaming is not to be had."""
    wanted = dict(kwargs)
    split = wanted.get("split")
    plain = _SLICE.sub(r"\1", str(split)) if split is not None else None
    if plain is not None:
        if not re.fullmatch(r"[\w.-]+", plain):
            return None
        wanted["split"] = plain
    for name in ("num_proc", "keep_in_memory", "save_infos", "storage_options"):
        wanted.pop(name, None)
    try:
        streams = original(path, *args, streaming=True, **wanted)
        made = _kept(streams) if plain is not None else _of_splits(streams)
    except Exception as error:  # noqa: BLE001 - what cannot be streamed is loaded
        journal.write("not_streamed", path=str(path), error=f"{type(error).__name__}: {str(error)[:200]}")
        return None
    journal.left_out("data", "rows", path=str(path))
    return made


def _of_splits(streams: Any) -> Any:
    from datasets import DatasetDict

    return DatasetDict({name: _kept(each) for name, each in streams.items()})


def _kept(stream: Any) -> Any:
    """Rows of a stream: the first ones, the longest of those looked at in front."""
    from datasets import Dataset

    began, rows = time.monotonic(), []
    for row in itertools.islice(stream, _LOOKED_AT):
        rows.append(row)
        if time.monotonic() - began > _STREAM_S:
            break
    info = getattr(stream, "info", None)
    total = _rows_of(info, getattr(stream, "split", None))
    cut = len(rows) >= _LOOKED_AT
    chosen = sorted(rows, key=lambda row: len(str(row)), reverse=True)[: KEPT // 8] if cut else []
    chosen += [each for each in rows if not any(each is other for other in chosen)]
    kept = chosen[:KEPT] if cut else rows
    made = Dataset.from_list(kept, features=getattr(stream, "features", None), split=getattr(stream, "split", None))
    if cut:
        _Bounded.lengths[_key(made)] = total or max(_LOOKED_AT, 1 << 40)
    return made


def _rows_of(info: Any, split: Any) -> Optional[int]:
    splits = getattr(info, "splits", None) or {}
    found = splits.get(str(split)) if hasattr(splits, "get") else None
    return getattr(found, "num_examples", None)
