"""Collects the fact `nvidia`."""

from __future__ import annotations

from pathlib import Path

from doctor.base.fact import Context, fact
from doctor.facts.gpus import Gpus
from doctor.facts.nvidia import Nvidia


@fact()
def collect(context: Context, gpus: Gpus | None) -> Nvidia:
    """Signs of the hardware and of the driver, each read where it lies; NVML's answer as it was given for `gpus`."""
    from doctor.readers.machine import kernel_log, nvidia_signs, nvml

    root = Path("/")
    nodes, control = nvidia_signs.device_nodes(root)
    return Nvidia(
        pci_devices=nvidia_signs.pci_devices(root),
        device_nodes=nodes,
        control_nodes=control,
        kernel_module_version=nvidia_signs.module_version(root),
        library_path=nvidia_signs.library_path(context.environ, root),
        nvml_error=None if gpus is not None else nvml.failure_text() or "NVML gave no answer in time",
        xids=kernel_log.read_xids(),
    )
