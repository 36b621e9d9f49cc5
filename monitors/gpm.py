"""GPM: the counters from which NVML tells what the SMs really did, Hopper and newer.

Two samples more than 100 ms apart give the exact mean between them, so one a second loses nothing.
https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html
"""

from __future__ import annotations

import math
from typing import Any

from doctor.facts._nvml import Nvml

#: nvmlGpmMetricId_t -> column; percent, and MiB/s for the links
METRICS = {
    1: "graphics_active_pct", 2: "sm_active_pct", 3: "sm_occupancy_pct", 5: "tensor_active_pct", 10: "dram_active_pct",
    20: "pcie_tx_mib_s", 21: "pcie_rx_mib_s", 60: "nvlink_rx_mib_s", 61: "nvlink_tx_mib_s",
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

    """

    def __init__(self, nvml: Nvml, handle: Any, instance: int | None = None) -> None:
        self._nvml, self._handle, self._instance = nvml, handle, instance
        self._samples = [nvml.query("nvmlGpmSampleAlloc"), nvml.query("nvmlGpmSampleAlloc")]
        self._request = nvml.structure("c_nvmlGpmMetricsGet_t")
        self._taken_s: float | None = None
        self.error: int | None = None  # NVML's code when the last sample could not be taken
        self._prepare()

    def _prepare(self) -> None:
        self._request.version, self._request.numMetrics = _VERSION, len(METRICS)
        for position, metric in enumerate(METRICS):
            self._request.metrics[position].metricId = metric

    def read(self, mono_s: float) -> dict[str, float]:
        """Means since the last call, with `sm_window_s`; empty at the first call and when there is nothing to tell.

        Raises:
            GpuLost: the card does not answer any more.

        """
        if self._taken_s is not None and mono_s - self._taken_s < SHORTEST_S:
            return {}
        if self._instance is None:
            _, code = self._nvml.ask("nvmlGpmSampleGet", self._handle, self._samples[1])
        else:
            _, code = self._nvml.ask("nvmlGpmMigSampleGet", self._handle, self._instance, self._samples[1])
        self.error = code
        before, self._taken_s = self._taken_s, None if code is not None else mono_s
        values: dict[str, float] = {}
        if code is None:
            if before is not None:
                values = self._difference()
                if values:
                    values["sm_window_s"] = round(mono_s - before, 6)
            self._samples.reverse()
        return values

    def _difference(self) -> dict[str, float]:
        request = self._request
        request.sample1, request.sample2 = self._samples
        _, self.error = self._nvml.ask("nvmlGpmMetricsGet", request)
        if self.error is not None:
            return {}
        found = {}
        for position, column in enumerate(METRICS.values()):
            metric = request.metrics[position]
            if metric.nvmlReturn == 0 and math.isfinite(metric.value):
                found[column] = round(metric.value, 3)
        return found


def supported(nvml: Nvml, handle: Any) -> bool:
    """Whether the card has these counters."""
    answer = nvml.query("nvmlGpmQueryDeviceSupport", handle)
    return answer is not None and bool(answer.isSupportedDevice)
