"""Reads the doctor's GPU files with nothing but Python, line by line: some 160,000 rows a second."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path

from doctor.monitors.usage.blocks import FIGURES, bits, blocks, is_number, left_out
from doctor.monitors.usage.tracks import GpuKey, Track

_NAN = float("nan")
_THROTTLE = "throttle"


class _Card:
    """What was read of one card: a value for each row and figure, NaN where a cell is empty."""

    def __init__(self) -> None:
        self.times = array("d")
        self.values = {name: array("f") for name in (*FIGURES, _THROTTLE)}
        self.source = ""

    def tracks(self) -> dict[str, Track]:
        """Tracks of the figures that are told at all; those told in the same rows share their times."""
        found = {}
        times: dict[bytes, array[float]] = {}
        order = _order(self.times)
        for name, values in self.values.items():
            told = bytes(value == value for value in values)  # noqa: PLR0124 - NaN
            if 1 not in told:
                continue
            if told not in times:
                times[told] = array("d", [self.times[at] for at in order if told[at]])
            found[name] = Track(times[told], array("f", [values[at] for at in order if told[at]]))
        return found


def _order(times: array[float]) -> Iterable[int]:
    """Positions in order of time."""
    places = range(len(times))
    ascending = all(times[at] <= times[at + 1] for at in range(len(times) - 1))
    return places if ascending else sorted(places, key=times.__getitem__)


class _Columns:
    """Where the cells of a row stand."""

    def __init__(self, names: list[str]) -> None:
        self.count = len(names)
        at = {name: number for number, name in enumerate(names)}
        self.t_ns, self.gpu = at["t_ns"], at["gpu"]
        self.mig, self.host = at.get("mig"), at.get("host")
        self.source, self.reasons = at.get("sm_source"), at.get("throttle_reasons")
        self.figures = [(name, at[name]) for name in FIGURES if name in at]
        self.missing = [name for name in FIGURES if name not in at]
        self.numbers = [number for name, number in at.items() if name in FIGURES or name == "mig"]

    def fit(self, cells: list[str]) -> bool:
        """Whether a row has as many cells as columns, and numbers where numbers belong."""
        if len(cells) != self.count:
            return False
        whole = all(is_number(cells[at].encode(), whole=True) for at in (self.t_ns, self.gpu))
        return whole and all(is_number(cells[at].encode(), whole=False) for at in self.numbers if cells[at])


def read(paths: Iterable[Path], notes: list[str]) -> tuple[dict[GpuKey, dict[str, Track]], dict[GpuKey, str]]:
    """Figures of each card, and where its activity is from; `notes` takes down what could not be read.

    Raises:
        NotUsage: a file is none of the doctor's.

    """
    cards: dict[tuple[str, str, str], _Card] = {}
    lost = 0
    for names, rows in blocks(paths):
        lost += _take(_Columns(names), rows.decode("utf-8", "replace"), cards)
    if lost:
        notes.append(left_out(lost))
    found: dict[GpuKey, dict[str, Track]] = {}
    sources: dict[GpuKey, str] = {}
    for (host, gpu, mig), card in sorted(cards.items(), key=lambda each: each[0][0]):
        key = GpuKey(host, int(gpu), int(float(mig)) if mig else None)
        found[key], sources[key] = card.tracks(), card.source
    return found, sources


def _take(columns: _Columns, text: str, cards: dict[tuple[str, str, str], _Card]) -> int:
    """Add rows to their cards; gives the number of lines that are none."""
    lost = 0
    reasons: dict[str, float] = {"": _NAN}
    for line in text.split("\n"):
        if not line:
            continue
        row = line.removesuffix("\r")
        cells = row.split(",")
        if "\r" in row or "\0" in row or not columns.fit(cells):
            lost += 1
            continue
        host = cells[columns.host] if columns.host is not None else ""
        mig = cells[columns.mig] if columns.mig is not None else ""
        who = (host, cells[columns.gpu], mig)
        card = cards.get(who)
        if card is None:
            card = cards[who] = _Card()
        card.times.append(int(cells[columns.t_ns]) / 1e9)
        for name, at in columns.figures:
            card.values[name].append(float(cells[at] or "nan"))
        for name in columns.missing:
            card.values[name].append(_NAN)
        why = cells[columns.reasons] if columns.reasons is not None else ""
        if why not in reasons:
            reasons[why] = bits(why)
        card.values[_THROTTLE].append(reasons[why])
        if columns.source is not None and cells[columns.source]:
            card.source = cells[columns.source]
    return lost
