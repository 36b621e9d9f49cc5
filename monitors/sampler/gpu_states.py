"""What is so at a moment on all cards: memory, power, clock, reasons, temperature, utilization."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from doctor.monitors.sampler.gpu_reader import GpuReader
from doctor.monitors.sampler.nvml_calls import Sweep, Way, field_way
from doctor.readers.machine.gpu_queries import REASONS
from doctor.readers.machine.nvml import Nvml

_CLOCK_SM = 1
_MIB = 1 << 20
#: field id of nvml.h: power at this moment; a card that only tells the mean over a second lacks it
_POWER_NOW = 186

#: columns of what is so at a moment; the driver has a new power twice as often as anybody needs the others
POWER = ("power_w",)
STATES = ("memory_used_mib", "power_w", "sm_clock_mhz", "throttle_reasons")
#: what is read once a second beside them
SECOND = ("temperature_c", "gpu_busy_pct", "memory_busy_pct")

Cells = list[str]


class CardStates:
    """The cards that answer, asked together, one figure after the other.

    Args:
        nvml: the open library.
        readers: of the cards.

    """

    def __init__(self, nvml: Nvml, readers: Sequence[GpuReader]) -> None:
        self._readers = readers
        self.lost: dict[int, int] = {}  # place of each card that does not answer any more -> NVML's code
        self._lost_instances: dict[int, int] = {}
        memory, power, clock, reasons, temperature = questions(nvml)
        self._power = self._sweep(nvml, power)
        self._states = (
            self._sweep(nvml, memory), self._power, self._sweep(nvml, clock), self._sweep(nvml, reasons)
        )  # fmt: skip
        self._temperature = self._sweep(nvml, temperature)
        handles = [(reader.card.handle, () if reader.card.instances else (UTILIZATION,)) for reader in readers]
        self._utilization = Sweep(nvml, handles, self._failed, self.lost, ("", ""))  # nvml.h: not under MIG
        of_instances = [
            (instance, uuid, handle, place)
            for place, reader in enumerate(readers)
            for instance, handle, uuid in reader.card.instances
        ]
        self._instances = [(place, instance, uuid) for instance, uuid, _, place in of_instances]
        self._memory_of_instances = Sweep(
            nvml,
            [(handle, memory) for _, _, handle, _ in of_instances],
            self._failed_instance,
            self._lost_instances,
            "",
        )

    def _sweep(self, nvml: Nvml, ways: tuple[Way[str], ...]) -> Sweep[str]:
        return Sweep(nvml, [(reader.card.handle, ways) for reader in self._readers], self._failed, self.lost, "")

    def _failed(self, place: int, function: str, code: int) -> None:
        self._readers[place].failed(function, code)

    def _failed_instance(self, place: int, function: str, code: int) -> None:
        self._failed(self._instances[place][0], function, code)

    def power(self) -> list[Cells]:
        """Cells of POWER for each card, column by column."""
        return [self._power.read()]

    def states(self) -> list[Cells]:
        """Cells of STATES for each card, column by column."""
        return [each.read() for each in self._states]

    def second(self) -> list[Cells]:
        """Cells of SECOND for each card, column by column."""
        busy = self._utilization.read()
        return [self._temperature.read(), [gpu for gpu, _ in busy], [memory for _, memory in busy]]

    def without_power(self) -> set[int]:
        """Indices of cards that never tell their power of this moment."""
        return {reader.card.index for place, reader in enumerate(self._readers) if self._power.gone(place)}

    def of_instances(self) -> list[tuple[int, dict[str, str]]]:
        """(place of the card, row) of each MIG instance: its memory."""
        if not self._instances:
            return []
        rows = []
        told = self._memory_of_instances.read()
        self.lost.update((self._instances[place][0], code) for place, code in self._lost_instances.items())
        for (place, instance, uuid), used in zip(self._instances, told):  # noqa: B905 - Python 3.9 has no strict=
            if place not in self.lost:
                rows.append((place, {"mig": str(instance), "uuid": uuid or "", "memory_used_mib": used}))
        return rows


#: of the last window, and whether it is worth a thought: cells of gpu_busy_pct and memory_busy_pct
UTILIZATION: Way[tuple[str, str]] = Way(
    "nvmlDeviceGetUtilizationRates", "II", lambda gpu, memory: (str(gpu), str(memory))
)


@lru_cache
def questions(nvml: Nvml) -> tuple[tuple[Way[str], ...], ...]:
    """How to ask for each of STATES, and for the temperature."""
    return (
        _memory(nvml),
        (field_way(_POWER_NOW, lambda milliwatts: f"{milliwatts / 1000:.6g}"),),
        (Way("nvmlDeviceGetClockInfo", "I", str, (_CLOCK_SM,)),),
        # by the name of the call since driver 535, else by its older one
        tuple(Way(f"nvmlDeviceGetCurrentClocks{what}Reasons", "Q", reason_names) for what in ("Event", "Throttle")),
        (Way("nvmlDeviceGetTemperature", "I", str, (0,)),),
    )


def _memory(nvml: Nvml) -> tuple[Way[str], ...]:
    """MiB in use, without the driver's reserve; with it where the driver is older than 510."""
    newer, older = nvml.structure("c_nvmlMemory_v2_t"), nvml.structure("c_nvmlMemory_t")
    newer.version = nvml.constant("nvmlMemory_v2", 0)

    def way(function: str, out: Any) -> Way[str]:
        before = type(out).used.offset
        form = f"{before}xQ{ctypes.sizeof(out) - before - 8}x"
        return Way(function, form, lambda used: str(used // _MIB), begin=bytes(out))

    return way("nvmlDeviceGetMemoryInfo_v2", newer), way("nvmlDeviceGetMemoryInfo", older)


@lru_cache
def reason_names(bits: int) -> str:
    """Clock event reasons by name; "none" for no reason."""
    return "|".join(name for bit, name in REASONS if bits & bit) or "none"
