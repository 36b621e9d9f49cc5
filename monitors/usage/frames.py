"""Reads the doctor's GPU files by pandas: faster than `doctor.monitors.usage.plainly`, with the same outcome."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from doctor.monitors.usage.blocks import FIGURES, bits, blocks, is_regular, left_out, readable
from doctor.monitors.usage.tracks import GpuKey, Track


def read(paths: Iterable[Path], notes: list[str]) -> tuple[dict[GpuKey, dict[str, Track]], dict[GpuKey, str]]:
    """Figures of each card, and where its activity is from; `notes` takes down what could not be read.

    Raises:
        NotUsage: a file is none of the doctor's.

    """
    sources_of: dict[GpuKey, str] = {}
    parts: dict[GpuKey, dict[str, list[tuple[Any, Any]]]] = {}
    for frame in _frames(paths, notes):
        told = {name: frame[name].to_numpy() for name in FIGURES}
        told["throttle"] = _bits_of(frame["throttle_reasons"])
        seconds = (frame["t_ns"] / 1e9).to_numpy()
        hosts, sources = frame["host"].cat, frame["sm_source"].cat
        codes = sources.codes.to_numpy()
        for (host, gpu, mig), rows in _rows_of_each(hosts.codes, frame["gpu"], frame["mig"]):
            key = GpuKey(str(hosts.categories[host]) if host >= 0 else "", gpu, None if mig < 0 else mig)
            _collect(told, rows, seconds, parts.setdefault(key, {}))
            named = codes[rows][codes[rows] >= 0]
            of_card = sources_of.setdefault(key, "")
            sources_of[key] = str(sources.categories[named[-1]]) if len(named) else of_card
    return {key: _tracks(figures) for key, figures in parts.items()}, sources_of


def _tracks(figures: dict[str, list[tuple[Any, Any]]]) -> dict[str, Track]:
    """The pieces of each figure put together; figures told in the same rows share their times."""
    import numpy as np

    tracks = {}
    joined: dict[tuple[int, ...], Any] = {}
    shared: dict[tuple[int, ...], array[float]] = {}
    for name, pieces in figures.items():
        same = tuple(id(piece[0]) for piece in pieces)
        if same not in joined:
            joined[same] = np.concatenate([piece[0] for piece in pieces])
        t, v = joined[same], np.concatenate([piece[1] for piece in pieces])
        order = None if bool((t[1:] >= t[:-1]).all()) else np.argsort(t, kind="stable")
        if same not in shared:
            shared[same] = array("d", (t if order is None else t[order]).astype("float64").tobytes())
        tracks[name] = Track(shared[same], array("f", (v if order is None else v[order]).astype("float32").tobytes()))
    return tracks


def _rows_of_each(*columns: Any) -> Iterator[tuple[list[int], Any]]:
    """(codes, rows in order) of each card: pandas' own grouping by arrays turns them into text first."""
    import numpy as np

    table = np.stack([each.fillna(-1).to_numpy().astype("int64") for each in columns])
    order = np.lexsort(table[::-1])
    ordered = table[:, order]
    begins = np.flatnonzero(np.append(True, (np.diff(ordered) != 0).any(axis=0)))
    for begin, rows in zip(begins.tolist(), np.split(order, begins[1:]), strict=True):
        yield ordered[:, begin].tolist(), rows


def _collect(columns: dict[str, Any], rows: Any, seconds: Any, figures: dict[str, list[tuple[Any, Any]]]) -> None:
    import numpy as np

    times = seconds[rows]
    of_mask: dict[bytes, Any] = {}  # figures told in the same rows share their times: half of the memory
    for name, column in columns.items():
        values = column[rows]
        told = ~np.isnan(values)
        if told.all():
            figures.setdefault(name, []).append((times, values))
        elif told.any():
            shared = of_mask.setdefault(told.tobytes(), None)
            if shared is None:
                shared = of_mask[told.tobytes()] = times[told]
            figures.setdefault(name, []).append((shared, values[told]))


def _bits_of(reasons: Any) -> Any:
    """Names of throttle reasons as bits; NaN where nothing was told."""
    import numpy as np

    values = [bits(str(each)) for each in reasons.cat.categories]
    return np.append(np.array(values, dtype="float32"), np.float32("nan"))[reasons.cat.codes.to_numpy()]


def _frames(paths: Iterable[Path], notes: list[str]) -> Iterator[Any]:
    """The files as data frames of some ten thousand rows; `notes` takes down what could not be read."""
    import pandas as pd

    lost = 0

    for names, rows in blocks(paths):
        texts = dict.fromkeys(("host", "sm_source", "throttle_reasons"), "category")
        numbers = dict.fromkeys((each for each in (*FIGURES, "mig") if each in names), "float32")
        wanted = [name for name in names if name in {"t_ns", "gpu", *texts, *numbers}]
        missing = {"t_ns", "gpu", "mig", "host", *FIGURES, *texts} - set(names)
        read = partial(
            pd.read_csv, header=None, names=names, usecols=wanted, engine="c", keep_default_na=False, na_values=[""],
            dtype={**numbers, **texts, "t_ns": "int64", "gpu": "int32"}, comment=None, on_bad_lines="skip",
            quoting=csv.QUOTE_NONE, encoding_errors="replace",
        )  # fmt: skip
        frame = None
        if is_regular(rows, len(names)):
            with suppress(ValueError, OverflowError):  # pandas' own errors are among them
                frame = read(io.BytesIO(rows))
        if frame is None:
            kept = readable(rows, names, {"t_ns", "gpu"}, numbers)
            lost += rows.count(b"\n") - len(kept)
            if not kept:
                continue
            frame = read(io.BytesIO(b"\n".join(kept) + b"\n"))
        for name in missing:
            frame[name] = pd.Series(float("nan"), index=frame.index, dtype="category" if name in texts else "float32")
        yield frame
    if lost:
        notes.append(left_out(lost))
