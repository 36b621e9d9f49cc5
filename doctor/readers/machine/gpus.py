"""Collects the fact `gpus`."""

from __future__ import annotations

from typing import Any

from doctor.base.fact import Context, fact
from doctor.facts.gpus import Gpus


@fact(timeout_s=10.0)  # slow by name: without a persistence daemon the driver wakes card after card
def collect(context: Context) -> Gpus:  # noqa: ARG001 - NVML sees all GPUs whatever the variables say
    """All GPUs, one after the other; one that fails is named in its `error`.

    Raises:
        Unavailable: no driver, no library, a mismatch between them, or an unfit binding.

    """
    from doctor.readers.machine import gpu_queries, kernel_log
    from doctor.readers.machine import nvml as _nvml

    nvml = _nvml.open_nvml()
    driver = nvml.query("nvmlSystemGetDriverVersion")
    read = [gpu_queries.read_gpu(nvml, index, driver) for index in range(nvml.query("nvmlDeviceGetCount") or 0)]
    gpus = tuple(gpu for gpu, _ in read)
    handles = {gpu.index: handle for gpu, handle in read if handle is not None and gpu.error is None}
    index_at = {gpu.bus_id: gpu.index for gpu in gpus if gpu.bus_id}
    xids = kernel_log.read_xids()
    return Gpus(
        driver_version=driver,
        cuda_driver_version=_cuda_version(nvml.query("nvmlSystemGetCudaDriverVersion_v2")),
        gpus=gpus,
        peer_access=gpu_queries.peer_access(nvml, handles),
        xids=None if xids is None else tuple((index_at.get(bus or ""), xid, text) for bus, xid, text in xids),
    )


def _cuda_version(number: Any) -> str | None:
    """12040 -> "12.4"."""
    return f"{number // 1000}.{number % 1000 // 10}" if isinstance(number, int) and number > 0 else None
