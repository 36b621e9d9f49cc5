"""Signs of the hardware in trees that the test lays out, and Xids in kernel messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts.gpus import Gpus
from doctor.readers.machine import kernel_log, nvidia, nvidia_signs


def device(root: Path, address: str, vendor: str, kind: str) -> None:
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(vendor + "\n")
    (folder / "class").write_text(kind + "\n")


def test_display_and_3d_controllers_count_and_their_sound_does_not(tmp_path):
    device(tmp_path, "0000:01:00.0", "0x10de", "0x030000")
    device(tmp_path, "0000:01:00.1", "0x10de", "0x040300")  # HDMI audio of the same card
    device(tmp_path, "0000:3b:00.0", "0x10de", "0x030200")
    device(tmp_path, "0000:05:00.0", "0x10de", "0x068000")  # NVSwitch
    device(tmp_path, "0000:00:02.0", "0x8086", "0x030000")
    assert nvidia_signs.pci_devices(tmp_path) == 2
    assert nvidia_signs.pci_devices(tmp_path / "no-sys") is None


def test_device_nodes(tmp_path):
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia-caps", "null"):
        (tmp_path / "dev" / name).touch()
    cards, control = nvidia_signs.device_nodes(tmp_path)
    assert cards == ("/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia10")
    assert control == ("/dev/nvidiactl", "/dev/nvidia-uvm")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version: 12",
            "550.54.15",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (dvs@x)\n", "560.35.03"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124  Thu\n", "570.124"),
        ("something else", None),
    ],
)
def test_version_of_the_kernel_module(tmp_path, text, version):
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text(text)
    assert nvidia_signs.module_version(tmp_path) == version


def test_library_by_variable_then_cache_then_folders(tmp_path):
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "usr/lib64").mkdir(parents=True)
    (root / "usr/lib64/libnvidia-ml.so.1").touch()
    assert nvidia_signs.library_path({}, root) == "/usr/lib64/libnvidia-ml.so.1"
    (root / "usr/lib/wsl/lib").mkdir(parents=True)
    (root / "usr/lib/wsl/lib/libnvidia-ml.so.1").touch()
    entry = b"\0\x01libnvidia-ml.so.1\0/gone/libnvidia-ml.so.1\0libnvidia-ml.so.1\0/usr/lib/wsl/lib/libnvidia-ml.so.1\0"
    (root / "etc/ld.so.cache").write_bytes(b"glibc-ld.so.cache1.1" + entry)
    assert nvidia_signs.library_path({}, root) == "/usr/lib/wsl/lib/libnvidia-ml.so.1"
    own = tmp_path / "own"
    own.mkdir()
    (own / "libnvidia-ml.so.1").touch()
    environ = {"LD_LIBRARY_PATH": f"{tmp_path}/none:{own}"}
    assert nvidia_signs.library_path(environ, root) == str(own / "libnvidia-ml.so.1")
    assert nvidia_signs.library_path({}, tmp_path / "empty") is None


# Lines as the driver writes them, in the form of https://docs.nvidia.com/deploy/xid-errors/
KERNEL = """\
<6>[    3.1] nvidia: loading out-of-tree module taints kernel.
<4>[  842.3] NVRM: GPU at PCI:0000:3b:00: GPU-5f2a0001-0000-0000-0000-000000000000
<4>[  842.3] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
<4>[  901.7] NVRM: Xid (PCI:0000:86:00): 31, pid=4242, name=python, Ch 00000008, intr 00000000. MMU Fault
4,1234,902000000,-;NVRM: Xid (0000:AF:00.0): 48, An uncorrectable double bit error (DBE) has been detected
<4>[  903.0] NVRM: a sentence about Xid that is none
"""


def test_xids_with_address_number_and_message():
    found = kernel_log.find_xids(KERNEL)
    assert [(bus, xid) for bus, xid, _ in found] == [
        ("0000:3b:00.0", 79),
        ("0000:86:00.0", 31),
        ("0000:af:00.0", 48),
    ]
    assert found[0][2].endswith("GPU has fallen off the bus.")


def test_a_flood_of_xids_is_bounded_and_keeps_the_newest():
    text = "\n".join(f"NVRM: Xid (PCI:0000:3b:00): {number}, x" for number in range(1000))
    found = kernel_log.find_xids(text)
    assert len(found) == 200
    assert found[-1][1] == 999


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:3b:00", "0000:3b:00.0"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("3", None),
    ],
)
def test_pci_addresses_in_linux_form(text, address):
    assert kernel_log.pci_address(text) == address


def test_this_machine_with_and_without_nvml():
    with_gpus = nvidia.collect(Context(), Gpus())
    assert with_gpus.nvml_error is None
    assert nvidia.collect(Context(), None).nvml_error
