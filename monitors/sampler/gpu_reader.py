"""Reads one GPU for the sampler; `gpu_worker` says how often what is read.

`utilization.gpu` is the driver's mean over its own window of 1/6 to 1 s; asking more often repeats values, asking more
seldom loses windows. So the driver's buffer of windows is drained (it holds ten seconds of them, an H100's fourteen).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from doctor.monitors.sampler.clock import Now
from doctor.monitors.sampler.gpm import Gpm, supported
from doctor.monitors.sampler.nvlink import LinkErrors
from doctor.monitors.sampler.nvml_calls import FOR_GOOD, Fields, SampleBuffer
from doctor.readers.machine.nvml import FUNCTION_NOT_FOUND, NOT_SUPPORTED, Nvml

_GPU_SAMPLES = 1  # nvmlSamplingType_t
_MIB = 1 << 20

#: field ids of nvml.h: energy in mJ; time in ns that power, heat held the clock down; PCIe bytes, NVLink KiB so far
_ENERGY, _POWER_CAPPED, _THERMAL = 83, 74, 75
_NVLINK_TX, _NVLINK_RX, _PCIE_TX, _PCIE_RX = 138, 139, 197, 198
_ALL_LINKS = 0xFFFFFFFF
_TOTAL_FIELDS = (_ENERGY, _POWER_CAPPED, _THERMAL)
_LINK_FIELDS = (_PCIE_TX, _PCIE_RX, (_NVLINK_TX, _ALL_LINKS), (_NVLINK_RX, _ALL_LINKS))
#: field -> column, what makes a unit of it
_TOTALS = ((_ENERGY, "energy_j", 1e3), (_POWER_CAPPED, "power_capped_s", 1e9), (_THERMAL, "thermal_slowed_s", 1e9))
_COUNTERS = (
    (_PCIE_TX, "pcie_tx_mib_s", _MIB), (_PCIE_RX, "pcie_rx_mib_s", _MIB),
    (_NVLINK_TX, "nvlink_tx_mib_s", 1024), (_NVLINK_RX, "nvlink_rx_mib_s", 1024),
)  # fmt: skip

#: columns of the driver's windows
BUSY = ("gpu_busy_pct", "busy_source")

#: gaps between windows whose median is their period; an idle card's buffer may have holes
_FEWEST_GAPS = 5

#: a driver that stamps with the epoch is at most this far from our clock; a boot clock is decades away
_SAME_CLOCK_NS = 2 * 10**9


@dataclass
class Card:
    """A card as the sampler knows it."""

    index: int
    handle: Any
    uuid: str | None = None
    name: str | None = None
    instances: list[tuple[int, Any, str | None]] = field(default_factory=list)  # GPU instance, handle, UUID


class Samples:
    """Drains one buffer of the driver: (t_ns, percent) of each window that ended since the last call."""

    def __init__(self, buffer: SampleBuffer, failed: Callable[[str, int], None]) -> None:
        self._buffer, self._failed = buffer, failed
        self._begun_ns = time.time_ns()  # what the buffer holds of before is another run's
        self._last = 0
        self._offset_ns: int | None = None
        self._gone = False

    def new(self, now_ns: int) -> list[tuple[int, int]] | None:
        """Windows in order, the stamp moved from the driver's clock to ours; None where the buffer gives none."""
        if self._gone:
            return None
        rows, code = self._buffer.read(self._last)
        if code:
            self._gone = code in FOR_GOOD
            self._failed(self._buffer.function, code)
        if not rows:
            return None
        self._last = max(rows)[0]
        behind = now_ns - self._last * 1000
        # the newest window ended at most one window ago, so the smallest difference seen is the best
        self._offset_ns = behind if self._offset_ns is None else min(self._offset_ns, behind)
        offset = 0 if abs(self._offset_ns) < _SAME_CLOCK_NS else self._offset_ns
        return sorted((t_ns, v) for stamp, v in rows if (t_ns := stamp * 1000 + offset) >= self._begun_ns)

    def reach(self) -> tuple[float | None, float]:
        """Seconds from window to window and from the first to the last, as the stamps that the buffer holds tell.

        No waiting and one call. The period is None where they do not tell it.
        """
        stamps = sorted({stamp for stamp, _ in self._buffer.read(0)[0]})
        gaps = [(later - earlier) / 1e6 for earlier, later in zip(stamps, stamps[1:])]  # noqa: B905, RUF007 - Python 3.9 has neither strict= nor pairwise
        return median(gaps) if len(gaps) >= _FEWEST_GAPS else None, sum(gaps)


class GpuReader:
    """All readings of one card.

    Args:
        nvml: the open library.
        card: whom to read.
        trouble: called with (call, NVML's code) the first time that a call fails.

    """

    def __init__(self, nvml: Nvml, card: Card, trouble: Callable[[Card, str, int], None]) -> None:
        self._nvml, self.card, self._trouble = nvml, card, trouble
        self._dropped: set[str] = set()
        self._told: set[str] = set()
        self._gpm: dict[int | None, Gpm] = {}
        self._busy = Samples(SampleBuffer(nvml, card.handle, _GPU_SAMPLES), self.failed)
        self._bytes: dict[str, tuple[float, float]] = {}  # column -> (counter in MiB, when)
        self.links = LinkErrors(nvml, card.handle)
        self.busy_period_s, self.busy_depth_s = (None, 0.0) if card.instances else self._busy.reach()
        self.has_gpm = False
        if supported(nvml, card.handle):
            whole: tuple[int | None, ...] = (None,)
            instances = (*(each[0] for each in card.instances), *whole)
            self._gpm = {instance: Gpm(nvml, card.handle, instance) for instance in instances}
            self.has_gpm = True
        # each id costs the driver up to some milliseconds: what GPM tells is not asked for
        self._fields_wanted: tuple[int | tuple[int, int], ...] = (
            _TOTAL_FIELDS if self.has_gpm else (*_TOTAL_FIELDS, *_LINK_FIELDS)
        )
        self._fields: Fields | None = Fields(nvml, self._fields_wanted)

    def call(self, function: str, *arguments: Any) -> Any:
        """Ask the card; None when it cannot tell. A call that it will never answer is not made again."""
        if function in self._dropped:
            return None
        answer, code = self._nvml.ask(function, self.card.handle, *arguments)
        if code is None:
            return answer
        if code in FOR_GOOD:
            self._dropped.add(function)
        return self.failed(function, code)

    def failed(self, function: str, code: int) -> None:
        """Note a failure once as an event."""
        if code not in (NOT_SUPPORTED, FUNCTION_NOT_FOUND) and function not in self._told:
            self._told.add(function)
            self._trouble(self.card, function, code)

    def mean_power(self) -> str:
        """Cell of the driver's mean over its last second, for a card that does not tell the power of a moment."""
        milliwatts = self.call("nvmlDeviceGetPowerUsage")
        return "" if milliwatts is None else f"{milliwatts / 1000:.6g}"

    def means(self, at: Now, *, dear: bool) -> tuple[dict[str, str], list[tuple[Now, dict[str, str]]]]:
        """Cells of GPM's means since the last call: of the card, and rows of its instances.

        Args:
            at: now.
            dear: whether the dear metric is wanted where the busy figure says the same (under MIG there is none).

        """
        row: dict[str, str] = {}
        rows: list[tuple[Now, dict[str, str]]] = []
        for instance, gpm in self._gpm.items():
            cells = gpm.read(at.mono_s, dear=dear or bool(self.card.instances))
            if gpm.error is not None and f"gpm {instance}" not in self._told:
                self._told.add(f"gpm {instance}")
                self._trouble(self.card, "nvmlGpmSampleGet", gpm.error)
            if cells:
                cells["sm_source"] = "gpm"
            if instance is None:
                row = cells
            elif cells:
                uuid = next(each[2] for each in self.card.instances if each[0] == instance)
                rows.append((at, {"mig": str(instance), "uuid": uuid or "", **cells}))
        return row, rows

    def slow(self) -> dict[str, Any]:
        """What changes seldom: ECC, the link, the power limit."""
        milliwatts = self.call("nvmlDeviceGetEnforcedPowerLimit")
        return {
            "power_limit_w": None if milliwatts is None else milliwatts / 1000,
            "ecc_corrected": self.call("nvmlDeviceGetTotalEccErrors", 0, 0),
            "ecc_uncorrected": self.call("nvmlDeviceGetTotalEccErrors", 1, 0),
            "pcie_generation": self.call("nvmlDeviceGetCurrPcieLinkGeneration"),
            "pcie_width": self.call("nvmlDeviceGetCurrPcieLinkWidth"),
            "pcie_width_max": self.call("nvmlDeviceGetMaxPcieLinkWidth"),
        }

    def processes(self) -> list[tuple[int | None, int, int | None]]:
        """(GPU instance, process id, bytes) of each process on the card."""
        rows = self.call("nvmlDeviceGetComputeRunningProcesses_v3") or ()
        whole = 0xFFFFFFFF  # no instance
        return [
            (None if row.gpuInstanceId in (None, whole) else row.gpuInstanceId, row.pid, row.usedGpuMemory)
            for row in rows
        ]

    def _field_values(self) -> dict[int, int]:
        """Values of fields, each with a code of its own; what the card lacks is not asked for again."""
        found: dict[int, int] = {}
        if self._fields is None:
            return found
        code = self._fields.call.read(self.card.handle)
        if code:
            if code in FOR_GOOD:
                self._fields = None
            return found
        gone = set()
        for ident, failure, value in self._fields.rows():
            if failure == 0:
                found[ident] = value
            elif failure in FOR_GOOD:
                gone.add(ident)
        if gone:
            self._fields_wanted = tuple(each for each in self._fields_wanted if _ident(each) not in gone)
            wanted = self._fields_wanted
            self._fields = Fields(self._nvml, wanted) if wanted else None
        return found

    def totals(self, mono_s: float) -> dict[str, Any]:
        """Counters, which lose nothing by waiting: energy, time slowed; as rates what went over the links."""
        values = self._field_values()
        row: dict[str, Any] = {}
        for ident, column, scale in _TOTALS:
            if ident in values:
                row[column] = round(values[ident] / scale, 3)
        for ident, column, per_mib in _COUNTERS:
            if ident in values:
                rate = self._rate(column, values[ident] / per_mib, mono_s)
                if rate is not None:
                    row[column] = rate
        return row

    def _rate(self, column: str, counter: float, mono_s: float) -> float | None:
        """MiB/s since the last call; nothing where the counter was set back."""
        before = self._bytes.get(column)
        self._bytes[column] = (counter, mono_s)
        if before is None or counter < before[0] or mono_s <= before[1]:
            return None
        return round((counter - before[0]) / (mono_s - before[1]), 3)

    def drained(self) -> list[tuple[int, int]] | None:
        """(t_ns of its end, percent) of each window that the driver closed; None where there is none."""
        return None if self.card.instances else self._busy.new(time.time_ns())  # nvml.h: not under MIG


def _ident(field_id: int | tuple[int, int]) -> int:
    return field_id[0] if isinstance(field_id, tuple) else field_id


def open_card(nvml: Nvml, index: int) -> Card | None:
    """The card of an index, with its MIG instances; None when it may not be opened.

    Raises:
        GpuLost: the card does not answer.

    """
    handle = nvml.query("nvmlDeviceGetHandleByIndex", index)
    if handle is None:
        return None
    uuid, name = nvml.query("nvmlDeviceGetUUID", handle), nvml.query("nvmlDeviceGetName", handle)
    card = Card(index, handle, _text(uuid), _text(name))
    mode = nvml.query("nvmlDeviceGetMigMode", handle)
    if mode is not None and mode[0]:
        for number in range(nvml.query("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
            instance = nvml.query("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
            ident = None if instance is None else nvml.query("nvmlDeviceGetGpuInstanceId", instance)
            if ident is not None:
                card.instances.append((ident, instance, _text(nvml.query("nvmlDeviceGetUUID", instance))))
    return card


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return str(value) if value else None
