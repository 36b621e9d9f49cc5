"""Reads one GPU for the sampler: states at every tick, means once a second, what is slow every ten seconds.

`utilization.gpu` is the driver's mean over its own window of 1/6 to 1 s; asking more often repeats values, asking more
seldom loses windows. So the driver's buffer of windows is drained once a second (it holds ten seconds of them).
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from doctor.facts import _nvml
from doctor.facts._gpu import REASONS
from doctor.facts._nvml import Direct, Nvml
from doctor.monitors.clock import Now
from doctor.monitors.gpm import Gpm, supported

_GPU_SAMPLES, _MEMORY_SAMPLES = 1, 2  # nvmlSamplingType_t
_CLOCK_SM = 1
_MIB = 1 << 20

#: field ids of nvml.h: energy in mJ; time in ns that power, heat held the clock down; PCIe bytes, NVLink KiB so far
_ENERGY, _POWER_CAPPED, _THERMAL, _POWER_NOW = 83, 74, 75, 186
_NVLINK_TX, _NVLINK_RX, _PCIE_TX, _PCIE_RX = 138, 139, 197, 198
_ALL_LINKS = 0xFFFFFFFF
_SECOND_FIELDS = (
    _ENERGY, _POWER_CAPPED, _THERMAL, _PCIE_TX, _PCIE_RX, (_NVLINK_TX, _ALL_LINKS), (_NVLINK_RX, _ALL_LINKS),
)  # fmt: skip
_NOW_FIELDS = (_POWER_NOW,)

#: codes that will not change while the process lives
_FOR_GOOD = frozenset(
    {_nvml.NOT_SUPPORTED, _nvml.FUNCTION_NOT_FOUND, _nvml.NO_PERMISSION, _nvml.INVALID_ARGUMENT}
)  # fmt: skip

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

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self._begun_ns = time.time_ns()  # what the buffer holds of before is another run's
        self._last = 0
        self._offset_ns: int | None = None

    def new(self, reader: GpuReader, now_ns: int) -> list[tuple[int, int]] | None:
        """Windows in order, the stamp moved from the driver's clock to ours; None where the buffer gives none."""
        answer = reader.call("nvmlDeviceGetSamples", self.kind, self._last, quiet=(_nvml.NOT_FOUND,))
        rows = [row for row in (answer[1] if answer else ()) if row.timeStamp > self._last]
        if not rows:
            return None
        self._last = max(row.timeStamp for row in rows)
        behind = now_ns - self._last * 1000
        # the newest window ended at most one window ago, so the smallest difference seen is the best
        self._offset_ns = behind if self._offset_ns is None else min(self._offset_ns, behind)
        offset = 0 if abs(self._offset_ns) < _SAME_CLOCK_NS else self._offset_ns
        moved = ((row.timeStamp * 1000 + offset, row.sampleValue.uiVal) for row in rows)
        return sorted(each for each in moved if each[0] >= self._begun_ns)


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
        self._busy, self._memory_busy = Samples(_GPU_SAMPLES), Samples(_MEMORY_SAMPLES)
        self._bytes: dict[str, tuple[float, float]] = {}  # column -> (counter in MiB, when)
        self._questions = _questions(nvml)
        self._fields_gone: set[int] = set()
        self._queries: dict[tuple[Any, ...], Any] = {}
        self.has_gpm = False
        if supported(nvml, card.handle):
            self._gpm = {instance: Gpm(nvml, card.handle, instance) for instance, _, _ in card.instances}
            self._gpm[None] = Gpm(nvml, card.handle)
            self.has_gpm = True

    def call(self, function: str, *arguments: Any, quiet: tuple[int, ...] = (), handle: Any = None) -> Any:
        """Ask the card; None when it cannot tell. A call that it will never answer is not made again."""
        if function in self._dropped:
            return None
        answer, code = self._nvml.ask(function, handle or self.card.handle, *arguments)
        if code is None or code in quiet:
            return answer
        return self._failed(function, code)

    def _direct(self, function: str, *arguments: int, handle: Any = None) -> Any:
        """Like `call`, for the calls of every tick: what the driver filled, None when it cannot tell."""
        if function in self._dropped:
            return None
        question = self._questions[function]
        code = question.read(handle or self.card.handle, *arguments)
        return question.out if code is None else self._failed(function, code)

    def _failed(self, function: str, code: int) -> None:
        """Note a failure: once as an event, for good where it will not change."""
        if code in _FOR_GOOD:
            self._dropped.add(function)
        if code not in (_nvml.NOT_SUPPORTED, _nvml.FUNCTION_NOT_FOUND) and function not in self._told:
            self._told.add(function)
            self._trouble(self.card, function, code)

    def states(self) -> dict[str, Any]:
        """What is so at this moment: memory, power, clock, reasons to throttle."""
        row: dict[str, Any] = {"memory_used_mib": self._memory(self.card.handle), "power_w": self._power_now()}
        clock = self._direct("nvmlDeviceGetClockInfo", _CLOCK_SM)
        row["sm_clock_mhz"] = None if clock is None else clock.value
        reasons = self._direct("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:
            reasons = self._direct("nvmlDeviceGetCurrentClocksThrottleReasons")
        row["throttle_reasons"] = None if reasons is None else reason_names(reasons.value)
        return row

    def instance_states(self) -> list[dict[str, Any]]:
        """Memory of each MIG instance."""
        return [
            {"mig": instance, "uuid": uuid, "memory_used_mib": self._memory(handle)}
            for instance, handle, uuid in self.card.instances
        ]

    def second(self, at: Now) -> tuple[dict[str, Any], list[tuple[Now, dict[str, Any]]]]:
        """What is told once a second: values of now, and rows that have a stamp of their own or an instance."""
        row: dict[str, Any] = {"temperature_c": self.call("nvmlDeviceGetTemperature", 0)}
        rows: list[tuple[Now, dict[str, Any]]] = []
        for instance, gpm in self._gpm.items():
            values: dict[str, Any] = dict(gpm.read(at.mono_s))
            if gpm.error is not None and f"gpm {instance}" not in self._told:
                self._told.add(f"gpm {instance}")
                self._trouble(self.card, "nvmlGpmSampleGet", gpm.error)
            if values:
                values["sm_source"] = "gpm"
            if instance is None:
                row.update(values)
            elif values:
                uuid = next(each[2] for each in self.card.instances if each[0] == instance)
                rows.append((at, {"mig": instance, "uuid": uuid, **values}))
        row.update(self._fields(at.mono_s, counters="pcie_rx_mib_s" not in row))
        if row.get("power_w") is None and self._power_is_mean:
            milliwatts = self.call("nvmlDeviceGetPowerUsage")
            row["power_w"] = None if milliwatts is None else milliwatts / 1000
        return row, rows + self._drained(at)

    def slow(self) -> dict[str, Any]:
        """What changes seldom or costs much: ECC, the link."""
        return {
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

    def _memory(self, handle: Any) -> int | None:
        info = self._direct("nvmlDeviceGetMemoryInfo_v2", handle=handle)
        if info is None and "nvmlDeviceGetMemoryInfo_v2" in self._dropped:  # a driver older than 510
            info = self.call("nvmlDeviceGetMemoryInfo", handle=handle)
        return None if info is None else int(info.used) // _MIB

    @property
    def _power_is_mean(self) -> bool:
        return _POWER_NOW in self._fields_gone

    def _power_now(self) -> float | None:
        if self._power_is_mean:
            return None
        value = self._field_values(_NOW_FIELDS).get(_POWER_NOW)
        return None if value is None else value / 1000

    def _field_values(self, ids: tuple[Any, ...]) -> dict[int, int]:
        """Values of fields, each with a code of its own; what the card lacks is not asked for again."""
        query = self._queries.get(ids)
        if query is None:
            wanted = tuple(each for each in ids if _ident(each) not in self._fields_gone)
            query = self._queries[ids] = self._nvml.fields(wanted) if wanted else None
        found: dict[int, int] = {}
        if query is None:
            return found
        rows, code = query.read(self.card.handle)
        if code is not None:
            if code in _FOR_GOOD:
                self._fields_gone.update(map(_ident, ids))
                self._queries[ids] = None
            return found
        for row in rows:
            if row.nvmlReturn == 0:
                found[row.fieldId] = row.value.ullVal if row.valueType in (2, 3) else row.value.uiVal
            elif row.nvmlReturn in _FOR_GOOD:
                self._fields_gone.add(row.fieldId)
                self._queries.pop(ids, None)  # made anew without it
        return found

    def _fields(self, mono_s: float, *, counters: bool) -> dict[str, Any]:
        values = self._field_values(_SECOND_FIELDS)
        row: dict[str, Any] = {}
        for ident, column, scale in (
            (_ENERGY, "energy_j", 1e3), (_POWER_CAPPED, "power_capped_s", 1e9), (_THERMAL, "thermal_slowed_s", 1e9),
        ):  # fmt: skip
            if ident in values:
                row[column] = round(values[ident] / scale, 3)
        for ident, column, per_mib in (
            (_PCIE_TX, "pcie_tx_mib_s", _MIB), (_PCIE_RX, "pcie_rx_mib_s", _MIB),
            (_NVLINK_TX, "nvlink_tx_mib_s", 1024), (_NVLINK_RX, "nvlink_rx_mib_s", 1024),
        ):  # fmt: skip
            if ident in values and counters:
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

    def _drained(self, at: Now) -> list[tuple[Now, dict[str, Any]]]:
        """Busy figures of each window that the driver closed; where its buffer gives none, the figure of now."""
        if self.card.instances:  # nvml.h: not under MIG
            return []
        now_ns = time.time_ns()
        merged: dict[int, dict[str, Any]] = {}
        busy = self._busy.new(self, now_ns)
        for column, windows in (("gpu_busy_pct", busy), ("memory_busy_pct", self._memory_busy.new(self, now_ns))):
            for t_ns, value in windows or ():
                merged.setdefault(t_ns, {"busy_source": "samples"})[column] = value
        if busy is not None:
            return [(at.at(t_ns), row) for t_ns, row in sorted(merged.items())]
        rates = self.call("nvmlDeviceGetUtilizationRates")
        if rates is None:
            return []
        return [(at, {"gpu_busy_pct": rates.gpu, "memory_busy_pct": rates.memory, "busy_source": "polled"})]


def _questions(nvml: Nvml) -> dict[str, Direct]:
    """What is asked at every tick."""
    memory = nvml.structure("c_nvmlMemory_v2_t")
    memory.version = nvml.constant("nvmlMemory_v2", 0)
    outs = {
        "nvmlDeviceGetMemoryInfo_v2": memory,
        "nvmlDeviceGetClockInfo": ctypes.c_uint(),
        "nvmlDeviceGetCurrentClocksEventReasons": ctypes.c_ulonglong(),
        "nvmlDeviceGetCurrentClocksThrottleReasons": ctypes.c_ulonglong(),
    }
    return {function: nvml.direct(function, out) for function, out in outs.items()}


@lru_cache
def reason_names(bits: int) -> str:
    """Clock event reasons by name; "none" for no reason."""
    return "|".join(name for bit, name in REASONS if bits & bit) or "none"


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
