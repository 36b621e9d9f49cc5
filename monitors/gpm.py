"""GPM: the counters from which NVML tells what the SMs really did, Hopper and newer.

Two samples more than 100 ms apart give the exact mean between them, so one a second loses nothing.
https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

from doctor.facts._nvml import GONE, GpuLost, Nvml

#: nvmlGpmMetricId_t -> column; percent, and MiB/s for the links. The last one alone costs an H100 1.8 ms of CPU, all
#: others 0.2, and is what the busy figure says too
METRICS = {
    2: "sm_active_pct", 3: "sm_occupancy_pct", 5: "tensor_active_pct", 10: "dram_active_pct",
    20: "pcie_tx_mib_s", 21: "pcie_rx_mib_s", 60: "nvlink_rx_mib_s", 61: "nvlink_tx_mib_s",
    1: "graphics_active_pct",
}  # fmt: skip

_VERSION = 1

#: nvml.h asks for more than 100 ms between two samples
SHORTEST_S = 0.11


class Gpm:
    """The counters of one card or instance.

    Args:
        nvml: the open library.
        handle: of the card.
        instance: GPU instance; None: the whole card.
        dear_every: of so many answers one has the dear metric, the first one too.

    """

    def __init__(self, nvml: Nvml, handle: Any, instance: int | None = None, *, dear_every: int = 1) -> None:
        self._dear_every, self._answered = dear_every, 0
        self._take = nvml.pointer("nvmlGpmSampleGet" if instance is None else "nvmlGpmMigSampleGet")
        self._whose = (handle,) if instance is None else (handle, ctypes.c_uint(instance))
        self._samples = [nvml.query("nvmlGpmSampleAlloc"), nvml.query("nvmlGpmSampleAlloc")]
        self._compare = nvml.pointer("nvmlGpmMetricsGet")
        self._request = nvml.structure("c_nvmlGpmMetricsGet_t")
        self._taken_s: float | None = None
        self.error: int | None = None  # NVML's code when the last sample could not be taken
        self._prepare()

    def _prepare(self) -> None:
        self._request.version, self._request.numMetrics = _VERSION, len(METRICS)
        for position, metric in enumerate(METRICS):
            self._request.metrics[position].metricId = metric
        kind = type(self._request)
        begin, each = kind.metrics.offset, ctypes.sizeof(type(self._request.metrics[0]))
        # read as bytes: through the binding's structures each number costs two microseconds
        self._answers = memoryview(self._request).cast("B")[begin : begin + each * len(METRICS)]
        self._answer = struct.Struct(f"=IId{each - 16}x")

    def read(self, mono_s: float) -> dict[str, float]:
        """Means since the last call, with `sm_window_s`; empty at the first call and when there is nothing to tell.

        Raises:
            GpuLost: the card does not answer any more.

        """
        if self._taken_s is not None and mono_s - self._taken_s < SHORTEST_S:
            return {}
        self.error = _checked(self._take(*self._whose, self._samples[1]))
        before, self._taken_s = self._taken_s, None if self.error is not None else mono_s
        values: dict[str, float] = {}
        if self.error is None:
            if before is not None:
                values = self._difference()
                if values:
                    values["sm_window_s"] = round(mono_s - before, 6)
            self._samples.reverse()
        return values

    def _difference(self) -> dict[str, float]:
        wanted = len(METRICS) - (self._answered % self._dear_every != 0)
        self._answered += 1
        self._request.numMetrics = wanted
        self._request.sample1, self._request.sample2 = self._samples
        self.error = _checked(self._compare(ctypes.byref(self._request)))
        if self.error is not None:
            return {}
        told = self._answers[: wanted * self._answer.size]
        answers = zip(METRICS.values(), self._answer.iter_unpack(told))  # noqa: B905 - Python 3.9 has no strict=
        return {column: round(value, 3) for column, (_, code, value) in answers if code == 0 and math.isfinite(value)}


def _checked(code: int) -> int | None:
    if code in GONE:
        raise GpuLost(code, "GPU is lost")
    return code or None


def supported(nvml: Nvml, handle: Any) -> bool:
    """Whether the card has these counters."""
    answer = nvml.query("nvmlGpmQueryDeviceSupport", handle)
    return answer is not None and bool(answer.isSupportedDevice)
