"""GPM: the counters from which NVML tells what the SMs really did, Hopper and newer.

Two samples more than 100 ms apart give the exact mean between them, so one a second loses nothing.
https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpmFunctions.html
"""

from __future__ import annotations

import ctypes
import math
import struct
from functools import lru_cache
from typing import Any

from doctor.readers.machine.nvml import GONE, GpuLost, Nvml

#: nvmlGpmMetricId_t -> column; percent, and MiB/s for the links. The last one alone costs an H100 1.8 ms of CPU, all
#: others 0.2, and is what the busy figure says too
METRICS = {
    2: "sm_active_pct", 3: "sm_occupancy_pct", 5: "tensor_active_pct", 10: "dram_active_pct",
    20: "pcie_tx_mib_s", 21: "pcie_rx_mib_s", 60: "nvlink_rx_mib_s", 61: "nvlink_tx_mib_s",
    1: "graphics_active_pct",
}  # fmt: skip
_COLUMNS = tuple(METRICS.values())

_VERSION = 1

#: nvml.h asks for more than 100 ms between two samples
SHORTEST_S = 0.11


class _Request:
    """What is asked of two samples, of whichever card: one memory for all of them stays warm."""

    def __init__(self, nvml: Nvml) -> None:
        self._compare = nvml.pointer("nvmlGpmMetricsGet")
        self._request = nvml.structure("c_nvmlGpmMetricsGet_t")
        self._request.version = _VERSION
        for position, metric in enumerate(METRICS):
            self._request.metrics[position].metricId = metric
        self._whole = ctypes.byref(self._request)
        kind = type(self._request)
        begin, each = kind.metrics.offset, ctypes.sizeof(type(self._request.metrics[0]))
        # read as bytes: through the binding's structures each number costs two microseconds
        self._answers = memoryview(self._request).cast("B")[begin : begin + each * len(METRICS)]
        self._form = struct.Struct("=" + f"4xId{each - 16}x" * len(METRICS))

    def means(self, first: Any, second: Any, *, dear: bool) -> tuple[dict[str, str], int]:
        """Cells of what is told, and NVML's code; without the dear metric unless it is wanted."""
        request = self._request
        wanted = request.numMetrics = len(METRICS) - (not dear)
        request.sample1, request.sample2 = first, second
        code: int = self._compare(self._whole)
        if code:
            return {}, code
        told = self._form.unpack(self._answers)
        answers = zip(_COLUMNS[:wanted], told[::2], told[1::2])  # noqa: B905 - Python 3.9 has no strict=
        return {
            column: f"{round(value, 3):.6g}" for column, failure, value in answers
            if failure == 0 and math.isfinite(value)
        }, 0  # fmt: skip


@lru_cache
def _request(nvml: Nvml) -> _Request:
    return _Request(nvml)


class Gpm:
    """The counters of one card or instance.

    Args:
        nvml: the open library.
        handle: of the card.
        instance: GPU instance; None: the whole card.

    """

    def __init__(self, nvml: Nvml, handle: Any, instance: int | None = None) -> None:
        self._take = nvml.pointer("nvmlGpmSampleGet" if instance is None else "nvmlGpmMigSampleGet")
        self._whose = (handle,) if instance is None else (handle, ctypes.c_uint(instance))
        self._samples = [nvml.query("nvmlGpmSampleAlloc"), nvml.query("nvmlGpmSampleAlloc")]
        self._request = _request(nvml)
        self._taken_s: float | None = None
        self._dear = True  # the first answer has the dear metric
        self.error: int | None = None  # NVML's code when the last sample could not be taken

    def read(self, mono_s: float, *, dear: bool = True) -> dict[str, str]:
        """Cells of the means since the last call, with `sm_window_s`; empty at the first call and without an answer.

        Args:
            mono_s: now.
            dear: whether the dear metric is wanted, too; the first answer has it anyway.

        Raises:
            GpuLost: the card does not answer any more.

        """
        if self._taken_s is not None and mono_s - self._taken_s < SHORTEST_S:
            return {}
        self.error = _checked(self._take(*self._whose, self._samples[1]))
        before, self._taken_s = self._taken_s, None if self.error is not None else mono_s
        cells: dict[str, str] = {}
        if self.error is None:
            if before is not None:
                cells, code = self._request.means(*self._samples, dear=dear or self._dear)
                self.error = _checked(code)
                self._dear = False
                if cells:
                    cells["sm_window_s"] = f"{round(mono_s - before, 6):.6g}"
            self._samples.reverse()
        return cells


def _checked(code: int) -> int | None:
    if code in GONE:
        raise GpuLost(code, "GPU is lost")
    return code or None


def supported(nvml: Nvml, handle: Any) -> bool:
    """Whether the card has these counters."""
    answer = nvml.query("nvmlGpmQueryDeviceSupport", handle)
    return answer is not None and bool(answer.isSupportedDevice)
