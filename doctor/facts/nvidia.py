"""Signs of NVIDIA hardware and its driver that do not need the driver's library: PCI, /dev, /proc, kernel module."""

from __future__ import annotations

from doctor.base.record import record


@record
class Nvidia:
    """Args:
    pci_devices: number of NVIDIA display or 3D controllers on the PCI bus; None when /sys cannot be read.
    device_nodes: /dev/nvidia0 ... that exist; `kernel_module_version` from /proc/driver/nvidia/version.
    library_path: libnvidia-ml.so.1 as the dynamic linker would find it, None when it would not.
    nvml_error: why NVML gave no list of GPUs, None when it did: "Driver Not Loaded".
    control_nodes: of /dev/nvidiactl, /dev/nvidia-uvm and WSL's /dev/dxg those that exist.
    xids: (PCI address or None, Xid, kernel message) since boot, also when NVML gives nothing; None where the
        kernel's messages may not be read.

    """

    pci_devices: int | None = None
    device_nodes: tuple[str, ...] = ()
    kernel_module_version: str | None = None
    library_path: str | None = None
    nvml_error: str | None = None
    control_nodes: tuple[str, ...] = ()
    xids: tuple[tuple[str | None, int, str], ...] | None = None
