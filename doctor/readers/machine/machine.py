"""The kind of machine: kernel, distribution, container, memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path


def wsl(osrelease: str) -> int | None:
    """Return 1 or 2 for Windows' Linux, from the kernel's release.

    WSL 1 says "4.4.0-19041-Microsoft", WSL 2 "5.15.153.1-microsoft-standard-WSL2".
    """
    release = osrelease.lower()
    if "microsoft" not in release:
        return None
    return 2 if "wsl2" in release or "standard" in release else 1


def container(environ: Mapping[str, str], root: Path = Path("/")) -> str | None:
    """Return the kind of container this process runs in, None outside of one."""
    if environ.get("KUBERNETES_SERVICE_HOST") or "kubepods" in _read(root / "proc/1/cgroup"):
        return "kubernetes"
    if any(environ.get(name) for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER")):
        return "apptainer"
    if (root / ".singularity.d").is_dir():
        return "apptainer"
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists() or "docker" in _read(root / "proc/1/cgroup"):
        return "docker"
    kind = environ.get("container") or _read(root / "run/systemd/container")
    known = {"lxc": "lxc", "lxc-libvirt": "lxc", "podman": "podman", "docker": "docker", "oci": "docker"}
    if kind in known:
        return known[kind]
    return "lxc" if "/lxc/" in _read(root / "proc/1/cgroup") else None


def distribution(root: Path = Path("/")) -> str:
    """Return PRETTY_NAME of os-release(5), "" without one."""
    for path in ("etc/os-release", "usr/lib/os-release"):
        match = re.search(r"^PRETTY_NAME=[\"']?([^\"'\n]*)", _read(root / path), re.MULTILINE)
        if match:
            return match.group(1)
    return ""


def memory(root: Path = Path("/")) -> dict[str, int]:
    """Return /proc/meminfo in bytes: MemTotal, MemAvailable, SwapTotal ... ."""
    found = {}
    for line in _read(root / "proc/meminfo").splitlines():
        match = re.match(r"(\w+):\s+(\d+) kB", line)
        if match:
            found[match.group(1)] = int(match.group(2)) * 1024
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
