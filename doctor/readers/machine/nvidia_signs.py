"""What /sys, /proc, /dev and the dynamic linker say about NVIDIA hardware and its driver."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from doctor.base.patterns import later

_VENDOR = "0x10de"
_DISPLAY_CLASS = "0x03"  # VGA 0x0300, 3D 0x0302: PCI base class 03
_LIBRARY = "libnvidia-ml.so.1"
_MAX_CACHE_BYTES = 32 << 20

# as in: NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024
# or: NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (root@host)
_MODULE_VERSION = later(r"Kernel Module\s+(?:for \S+\s+)?(\d+(?:\.\d+)+)")


def pci_devices(root: Path) -> int | None:
    """Count NVIDIA's display and 3D controllers on the PCI bus; None when /sys does not show the bus."""
    count = 0
    try:
        devices = list((root / "sys/bus/pci/devices").iterdir())
    except OSError:
        return None
    for device in devices:
        if _read(device / "vendor") == _VENDOR and (_read(device / "class") or "").startswith(_DISPLAY_CLASS):
            count += 1
    return count


def device_nodes(root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(/dev/nvidia0 ..., the control nodes beside them): /dev/nvidiactl, /dev/nvidia-uvm, WSL's /dev/dxg."""
    try:
        names = {entry.name for entry in os.scandir(root / "dev")}
    except OSError:
        return (), ()
    cards = sorted((name for name in names if re.fullmatch(r"nvidia\d+", name)), key=lambda name: int(name[6:]))
    control = [name for name in ("nvidiactl", "nvidia-uvm", "dxg") if name in names]
    return tuple(f"/dev/{name}" for name in cards), tuple(f"/dev/{name}" for name in control)


def module_version(root: Path) -> str | None:
    """Version of the loaded kernel module."""
    match = _MODULE_VERSION.search(_read(root / "proc/driver/nvidia/version") or "")
    return match.group(1) if match else None


def library_path(environ: Mapping[str, str], root: Path) -> str | None:
    """Find NVML where the dynamic linker looks: LD_LIBRARY_PATH, its cache, its default folders."""
    for folder in (environ.get("LD_LIBRARY_PATH") or "").replace(";", ":").split(":"):
        if folder and (Path(folder) / _LIBRARY).is_file():
            return str(Path(folder) / _LIBRARY)
    for path in _cached(root / "etc/ld.so.cache"):
        if (root / path.lstrip("/")).is_file():
            return path
    machine = os.uname().machine
    for folder in (
        f"/lib/{machine}-linux-gnu",
        f"/usr/lib/{machine}-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
    ):
        if (root / folder.lstrip("/") / _LIBRARY).is_file():
            return f"{folder}/{_LIBRARY}"
    return None


def _cached(cache: Path) -> list[str]:
    """Paths of NVML in the linker's cache, whose strings are zero-terminated paths."""
    try:
        with cache.open("rb") as file:
            data = file.read(_MAX_CACHE_BYTES)
    except OSError:
        return []
    pattern = rb"/[\x20-\x7e]*/" + re.escape(_LIBRARY.encode()) + rb"(?=\0)"
    return [match.decode("ascii") for match in re.findall(pattern, data)]


def _read(path: Path) -> str | None:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return None
