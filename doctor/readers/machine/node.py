"""Collects the fact `node`."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.base.fact import Context, fact
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.node import Node, UsedPath
from doctor.facts.training import Training

if TYPE_CHECKING:
    from doctor.readers.machine.mounts import MountPoint

_PATIENCE_S = 1.0  # for files that may lie on a dead mount
_LARGEST_BYTES = 16 << 20
_MODULES = (
    "nvidia", "nvidia_uvm", "nvidia_peermem", "nv_peer_mem", "nvidia_fs", "gdrdrv", "ib_core", "mlx5_core", "mlx5_ib",
    "bnxt_re", "irdma", "efa", "amdgpu", "lustre",
)  # fmt: skip


@fact()
def collect(
    context: Context,
    environment: Environment,
    launch: Launch | None,
    training: Training | None,
    model: Model | None,
    accelerate_config: AccelerateConfig | None,
    deepspeed_config: DeepspeedConfig | None,
) -> Node:
    """Look at this machine, and at the files that the launch command names."""
    from doctor.base.deadline import Pending
    from doctor.readers.command import launched_nodes
    from doctor.readers.machine import kernel_clock, rdma
    from doctor.readers.machine import mounts as _mounts

    configs = {"accelerate config": accelerate_config, "deepspeed config": deepspeed_config}
    named = {purpose: each.path for purpose, each in configs.items() if each is not None and each.path}
    paths = {**_paths(context, environment, training), **_files(launch, model), **named}
    paths = {purpose: path for purpose, path in paths.items() if path.startswith("/")}
    mounts = _mounts.read()
    looks = [(purpose, path, Pending(lambda path=path: _measured(path))) for purpose, path in paths.items()]  # type: ignore[misc]
    sums = [(path, Pending(lambda path=path: _checksum(path))) for path in _summed(paths)]  # type: ignore[misc]
    place = launched_nodes.placed(context.environ)
    until = time.monotonic() + _PATIENCE_S
    return Node(
        boot_id=_line("/proc/sys/kernel/random/boot_id") or None,
        machine_id=_hashed(_line("/etc/machine-id")),
        cpu_model=_cpu_model(),
        numa_nodes=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        launcher=place.launcher,
        rank=place.rank,
        nodes=place.nodes,
        node_names=place.names,
        job=place.job,
        clock=kernel_clock.look(),
        mounts=_mounts.over_network(mounts),
        paths=tuple(_used(purpose, path, pending.result(until)[1], mounts) for purpose, path, pending in looks),
        checksums={path: found for path, pending in sums if (found := pending.result(until)[1])},
        kernel_modules=_modules(),
        ports=rdma.ports(),
    )


def _paths(context: Context, environment: Environment, training: Training | None) -> dict[str, str]:
    """Purpose -> path of what the run reads and writes by its nature; of Ray the folder that objects spill into."""
    from doctor.readers.machine import ray_processes
    from doctor.readers.machine.host import written_paths

    sessions = [each.session_dir for each in ray_processes.raylets() if each.session_dir]
    session = {"ray session": sessions[0]} if sessions else {}
    return {**written_paths(context, environment, training), **session}


def _files(launch: Launch | None, model: Model | None) -> dict[str, str]:
    """Purpose -> path of what the launch command names."""
    found = {"script": launch.script if launch else None, "model": model.folder if model and model.here else None}
    return {purpose: path for purpose, path in found.items() if path}


def _summed(paths: Mapping[str, str]) -> list[str]:
    """Paths of small files that must be the same on all nodes."""
    model = [f"{paths['model'].rstrip('/')}/config.json"] if "model" in paths else []
    return [*(paths[each] for each in ("script", "accelerate config", "deepspeed config") if each in paths), *model]


def _checksum(path: str) -> str | None:
    """First 16 digits of the file's SHA-256; None of what is no regular file or larger than a script can be."""
    file = Path(path)
    if not file.is_file() or file.stat().st_size > _LARGEST_BYTES:
        return None
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _measured(path: str) -> tuple[bool, int | None, int | None]:
    """(exists, free bytes, size of its file system)."""
    if not Path(path).exists():
        return False, None, None
    state = os.statvfs(path)
    return True, state.f_bavail * state.f_frsize, state.f_blocks * state.f_frsize


def _used(
    purpose: str, path: str, measured: tuple[bool, int | None, int | None] | None, mounts: tuple[MountPoint, ...]
) -> UsedPath:
    from doctor.readers.machine import mounts as _mounts

    mount = _mounts.above(path, mounts)
    exists, free, total = measured or (None, None, None)
    if mount is None:
        return UsedPath(purpose, path, exists, free_bytes=free, total_bytes=total)
    return UsedPath(purpose, path, exists, mount.point, mount.kind, mount.source, mount.over_network, free, total)


def _modules() -> dict[str, str] | None:
    """Loaded drivers of interest with their versions; None where this container has no /sys/module."""
    root = Path("/sys/module")
    if not root.is_dir():
        return None
    return {name: _line(root / name / "version") for name in _MODULES if (root / name).is_dir()}


def _cpu_model() -> str | None:
    """The name that /proc/cpuinfo gives to the first CPU; Arm has none there."""
    for line in _text("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "Model"}:
            return " ".join(value.split())
        if not line.strip():
            break
    return None


def _hashed(machine_id: str) -> str | None:
    """A hash, for machine-id(5) asks that the number itself leaves no machine."""
    return hashlib.sha256(f"grpo-doctor {machine_id}".encode()).hexdigest()[:12] if machine_id else None


def _line(path: str | Path) -> str:
    return _text(path).strip()


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""
