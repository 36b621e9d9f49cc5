"""Reads one GPU for the sampler; `gpu_worker` says how often what is read.

`utilization.gpu` is the driver's mean over its own window of 1/6 to 1 s; asking more often repeats values, asking more
seldom loses windows. So the driver's buffer of windows is drained (it holds ten seconds of them, an H100's fourteen).
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import Any

from doctor.facts._gpu import REASONS
from doctor.facts._nvml import FUNCTION_NOT_FOUND, NOT_SUPPORTED, Nvml
from doctor.monitors.clock import Now
from doctor.monitors.gpm import Gpm, supported
from doctor.monitors.nvlink import LinkErrors
from doctor.monitors.nvml_calls import FOR_GOOD, Call, Field, Fields, SampleBuffer, State, Way

_GPU_SAMPLES = 1  # nvmlSamplingType_t
_CLOCK_SM = 1
_MIB = 1 << 20

#: field ids of nvml.h: energy in mJ; time in ns that power, heat held the clock down; PCIe bytes, NVLink KiB so far
_ENERGY, _POWER_CAPPED, _THERMAL, _POWER_NOW = 83, 74, 75, 186
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

#: columns of what is so at a moment; the driver has a new power twice as often as anybody needs the others
POWER = ("power_w",)
STATES = ("memory_used_mib", "power_w", "sm_clock_mhz", "throttle_reasons")
#: columns of the driver's windows
BUSY = ("gpu_busy_pct", "busy_source")

#: answers of GPM from one with its dear metric to the next
_DEAR_EVERY = 10

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
        self._busy = Samples(SampleBuffer(nvml, card.handle, _GPU_SAMPLES), self._failed)
        self._bytes: dict[str, tuple[float, float]] = {}  # column -> (counter in MiB, when)
        ask = questions(nvml)
        memory, self._power, *others, self._temperature = (State(card.handle, each, self._failed) for each in ask)
        self._states = (memory, self._power, *others)
        self._of_instances = [(*each, State(each[1], ask[0], self._failed)) for each in card.instances]
        self.links = LinkErrors(nvml, card.handle)
        self.busy_period_s, self.busy_depth_s = (None, 0.0) if card.instances else self._busy.reach()
        self.busy_now: int | None = None
        self.has_gpm = False
        if supported(nvml, card.handle):
            self._gpm = {instance: Gpm(nvml, card.handle, instance) for instance, _, _ in card.instances}
            # under MIG there is no busy figure that says the same
            self._gpm[None] = Gpm(nvml, card.handle, dear_every=1 if card.instances else _DEAR_EVERY)
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
        return self._failed(function, code)

    def _failed(self, function: str, code: int) -> None:
        """Note a failure once as an event."""
        if code not in (NOT_SUPPORTED, FUNCTION_NOT_FOUND) and function not in self._told:
            self._told.add(function)
            self._trouble(self.card, function, code)

    def states(self) -> tuple[str, ...]:
        """Cells of STATES: what is so at this moment."""
        return tuple([each.read() for each in self._states])

    def instance_states(self) -> list[dict[str, Any]]:
        """Memory of each MIG instance."""
        return [
            {"mig": instance, "uuid": uuid, "memory_used_mib": memory.read()}
            for instance, _, uuid, memory in self._of_instances
        ]

    def power(self) -> tuple[str]:
        """Cell of POWER."""
        return (self._power.read(),)

    def second(self) -> dict[str, Any]:
        """What costs little and changes slowly: temperature, the share of time in which memory was in use."""
        row: dict[str, Any] = {"temperature_c": self._temperature.read()}
        if self._power.gone:
            milliwatts = self.call("nvmlDeviceGetPowerUsage")
            row["power_w"] = None if milliwatts is None else milliwatts / 1000
        if self.card.instances:  # nvml.h: not under MIG
            return row
        rates = self.call("nvmlDeviceGetUtilizationRates")
        if rates is not None:
            row["memory_busy_pct"], self.busy_now = rates.memory, rates.gpu
        return row

    def means(self, at: Now) -> tuple[dict[str, Any], list[tuple[Now, dict[str, Any]]]]:
        """GPM's means since the last call: of the card, and rows of its instances."""
        row: dict[str, Any] = {}
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
        return row, rows

    def slow(self, mono_s: float) -> dict[str, Any]:
        """What changes seldom or costs much: ECC, the link, the power limit; counters that lose nothing by waiting."""
        milliwatts = self.call("nvmlDeviceGetEnforcedPowerLimit")
        return {
            **self._of_fields(mono_s),
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

    def _of_fields(self, mono_s: float) -> dict[str, Any]:
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

    def drained(self) -> list[tuple[int | None, str, str]]:
        """Cells of BUSY for each window that the driver closed, behind its end (t_ns).

        Where the buffer gives none, the figure of now, with None for its end.
        """
        if self.card.instances:  # nvml.h: not under MIG
            return []
        windows = self._busy.new(time.time_ns())
        return self.polled() if windows is None else [(t_ns, str(value), "samples") for t_ns, value in windows]

    def polled(self) -> list[tuple[int | None, str, str]]:
        """The busy figure as `second` read it, for those who watch while the buffer waits to be drained."""
        return [] if self.busy_now is None else [(None, str(self.busy_now), "polled")]


@lru_cache
def questions(nvml: Nvml) -> tuple[tuple[Way, ...], ...]:
    """How to ask for each of STATES, and for the temperature; the same for all cards."""
    field = Field(nvml, _POWER_NOW)  # at this moment; a card that only tells the mean over a second lacks it
    reasons = ctypes.c_ulonglong()  # by the name of the call since driver 535, else by its older one
    return (
        _memory(nvml),
        ((field, lambda: f"{field.out.value / 1000:.6g}"),),
        (_number(nvml, "nvmlDeviceGetClockInfo", _CLOCK_SM),),
        tuple(
            (Call(nvml, f"nvmlDeviceGetCurrentClocks{what}Reasons", out=reasons), lambda: reason_names(reasons.value))
            for what in ("Event", "Throttle")
        ),
        (_number(nvml, "nvmlDeviceGetTemperature", 0),),
    )


def _memory(nvml: Nvml) -> tuple[Way, ...]:
    """MiB in use, without the driver's reserve; with it where the driver is older than 510."""
    newer, older = nvml.structure("c_nvmlMemory_v2_t"), nvml.structure("c_nvmlMemory_t")
    newer.version = nvml.constant("nvmlMemory_v2", 0)

    def way(function: str, out: Any) -> Way:
        used = ctypes.c_ulonglong.from_buffer(out, type(out).used.offset)
        return Call(nvml, function, out=out), lambda: str(used.value // _MIB)

    return way("nvmlDeviceGetMemoryInfo_v2", newer), way("nvmlDeviceGetMemoryInfo", older)


def _number(nvml: Nvml, function: str, argument: int) -> Way:
    out = ctypes.c_uint()
    return Call(nvml, function, ctypes.c_int(argument), out=out), lambda: str(out.value)


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
