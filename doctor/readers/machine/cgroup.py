"""Memory and CPU limits of this process's control group, version 1 and 2.

https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """Return the lowest memory limit on the way from this process's group to the top; None without one."""
    texts = _values(root, "memory", "memory.max", "memory.limit_in_bytes")
    limits = [int(text) for text in texts if text.isdigit()]
    return min(limits, default=None)


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the lowest CPU quota in CPUs, 1.5 for one and a half; None without one."""
    quotas = []
    for text in _values(root, "cpu", "cpu.max", None):
        quota, _, period = text.partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            quotas.append(int(quota) / int(period))
    for folder in _folders(root, "cpu"):
        v1_quota, v1_period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        if v1_quota.isdigit() and v1_period.isdigit() and int(v1_period):  # -1: no limit
            quotas.append(int(v1_quota) / int(v1_period))
    return min(quotas, default=None)


def _values(root: Path, controller: str, *names: str | None) -> list[str]:
    return [text for folder in _folders(root, controller) for name in names if name and (text := _read(folder / name))]


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Folders of this process's group and of its parents, for the v1 controller and for v2.

    In a container /proc/self/cgroup may tell the host's path while the mount shows the container's group as
    its
    top: the path is then not there, and the walk ends at the mount itself, which is the right group.
    """
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif controller in controllers.split(","):
            mounts = [root / "sys/fs/cgroup" / controllers, root / "sys/fs/cgroup" / controller]
        else:
            continue
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        for mount in dict.fromkeys(mounts):
            for depth in range(len(parts), -1, -1):
                yield mount.joinpath(*parts[:depth])


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
