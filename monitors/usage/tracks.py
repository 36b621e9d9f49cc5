"""What was sampled of a run: tracks of figures by GPU and host."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from doctor.monitors.usage.clock import Clock


@dataclass(frozen=True)
class GpuKey:
    """A card, or an instance of one, on a machine."""

    host: str
    index: int
    mig: int | None = None

    @property
    def label(self) -> str:
        """For people, where there is one machine: 3, or 3 MIG 2."""
        return f"{self.index}" + ("" if self.mig is None else f" MIG {self.mig}")


@dataclass
class Track:
    """Times (s since the epoch, ascending) and values of one figure: arrays of one length, `d` and `f` or `d`."""

    t: array[float]
    v: array[float]

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, float]]) -> Track:
        """From (time, value), ascending."""
        told = list(pairs)
        return cls(array("d", [at for at, _ in told]), array("d", [value for _, value in told]))


@dataclass
class Usage:
    """Everything that was sampled of one run."""

    name: str
    gpus: dict[GpuKey, dict[str, Track]] = field(default_factory=dict)
    sources: dict[GpuKey, str] = field(default_factory=dict)  # of sm_active_pct: gpm, dcgm; "" for none
    hosts: dict[str, dict[str, Track]] = field(default_factory=dict)
    gpu_roles: dict[GpuKey, set[tuple[str, int | None]]] = field(default_factory=dict)
    engines: dict[tuple[GpuKey, int], Track] = field(default_factory=dict)  # vLLM's process ids: MiB that each holds
    events: list[dict[str, Any]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    clocks: dict[str, Clock] = field(default_factory=dict)  # of the hosts that were compared with another clock

    @property
    def several_hosts(self) -> bool:
        """Whether a GPU's index alone does not name it."""
        first = next((key.host for key in self.gpus), None)
        return any(key.host != first for key in self.gpus)  # asked for each label: ends at the first that differs

    def label(self, key: GpuKey) -> str:
        """A GPU's name in this report."""
        return f"{key.host}:{key.label}" if self.several_hosts else key.label
