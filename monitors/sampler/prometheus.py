"""The newest figures as a Prometheus page, under dcgm-exporter's names, so that dashboards made for it fit.

https://docs.nvidia.com/datacenter/dcgm/latest/reference/dcgm-exporter-metrics.html
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from doctor.monitors.sampler.latest import Latest

#: metric, column, factor, help; ratios are 0 to 1 as DCGM's
METRICS = (
    ("DCGM_FI_PROF_SM_ACTIVE", "sm_active_pct", 0.01, "Ratio of SM cycles with at least one warp"),
    ("DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy_pct", 0.01, "Ratio of warps resident on an SM"),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active_pct", 0.01, "Ratio of cycles in which a tensor pipe worked"),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "dram_active_pct", 0.01, "Ratio of memory bandwidth in use"),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "graphics_active_pct", 0.01, "Ratio of time in which an engine had work"),
    ("DCGM_FI_DEV_GPU_UTIL", "gpu_busy_pct", 1.0, "Share of time in which some kernel was resident, percent"),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "memory_busy_pct", 1.0, "Share of time in which memory was accessed, percent"),
    ("DCGM_FI_DEV_FB_USED", "memory_used_mib", 1.0, "Memory in use, MiB"),
    ("DCGM_FI_DEV_POWER_USAGE", "power_w", 1.0, "Power draw, W"),
    ("DCGM_FI_DEV_GPU_TEMP", "temperature_c", 1.0, "Temperature of the GPU, C"),
    ("DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz", 1.0, "Clock of the SMs, MHz"),
)


def address(text: str) -> tuple[str, int]:
    """Host and port of "9400", ":9400", "0.0.0.0:9400" or "[::1]:9400"; loopback where no host is named.

    Raises:
        ValueError: no port.

    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"`{text}` names no port")
    return host.strip("[]") or "127.0.0.1", int(port)


class FigureCollector:
    """What prometheus_client asks for the figures each time that the page is fetched."""

    def __init__(self, latest: Latest) -> None:
        self._latest = latest
        self._lock = threading.Lock()

    def collect(self) -> Iterator[Any]:
        """One family a metric; what is not told has no line."""
        from prometheus_client.core import GaugeMetricFamily

        with self._lock:
            self._latest.read()
            for name, column, factor, text in METRICS:
                family = GaugeMetricFamily(name, text, labels=["gpu", "UUID", "GPU_I_ID", "Hostname"])
                for key, row in sorted(self._latest.gpus.items()):
                    value = self._latest.figure(key, column)
                    if value is not None:
                        family.add_metric([key[0], row.get("uuid", ""), key[1], row.get("host", "")], value * factor)
                yield family


def serve(latest: Latest, host: str, port: int) -> Any:
    """Serve the page from a thread until `shutdown()` of what is returned is called.

    Raises:
        ImportError: prometheus_client is not installed.
        OSError: the address cannot be had.

    """
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(FigureCollector(latest))  # type: ignore[arg-type, unused-ignore]
    server, _ = start_http_server(port, addr=host, registry=registry)
    return server
