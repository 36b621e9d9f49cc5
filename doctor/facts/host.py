"""Memory, limits, disks and the kind of machine."""

from __future__ import annotations

import math
import os
from pathlib import Path

from doctor.core.record import record
from doctor.facts.base import Context, fact
from doctor.facts.environment import Environment
from doctor.facts.training import Training


@record
class Disk:
    """Free space of the file system that holds `path`, or would: it need not exist yet.

    `purpose`: "cwd", "output_dir", "hf cache", "tmp". `error`: why there is no answer ("did not answer within
    0.5 s").
    """

    purpose: str
    path: str
    free_bytes: int | None = None
    free_inodes: int | None = None
    writable: bool | None = None
    filesystem: str | None = None
    error: str | None = None


@record
class Host:
    """Args:
    memory_limit_bytes: the cgroup's limit when it is lower than the machine's memory, else None.
    open_files_soft/hard, memlock_soft_bytes: limits of a process started here; None = unlimited is -1.
    container: "docker", "podman", "kubernetes", "apptainer", "lxc", None outside of one; `wsl` 1, 2 or
        None.
    cpus: usable ones (affinity and cgroup quota counted).

    """

    hostname: str
    kernel: str = ""
    os: str = ""
    cpus: int | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    memory_limit_bytes: int | None = None
    swap_total_bytes: int | None = None
    shm_total_bytes: int | None = None
    shm_free_bytes: int | None = None
    open_files_soft: int | None = None
    open_files_hard: int | None = None
    memlock_soft_bytes: int | None = None
    max_processes_soft: int | None = None
    wsl: int | None = None
    container: str | None = None
    disks: tuple[Disk, ...] = ()
    user_is_root: bool | None = None

    def disk(self, purpose: str) -> Disk | None:
        """Disk asked for a purpose."""
        return next((disk for disk in self.disks if disk.purpose == purpose), None)


@fact()
def collect(context: Context, environment: Environment, training: Training | None) -> Host:
    """The machine as a process started here would find it; disks for where this run writes."""
    import resource

    from doctor.facts import _cgroup, _disks, _machine

    system = os.uname()
    memory = _machine.memory()
    total = memory.get("MemTotal")
    limit = _cgroup.memory_limit_bytes()
    open_soft, open_hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shm = _shared_memory()
    return Host(
        hostname=system.nodename,
        kernel=system.release,
        os=_machine.distribution(),
        cpus=_cpus(_cgroup.cpu_quota()),
        memory_total_bytes=total,
        memory_available_bytes=memory.get("MemAvailable"),
        memory_limit_bytes=limit if limit is not None and (total is None or limit < total) else None,
        swap_total_bytes=memory.get("SwapTotal"),
        shm_total_bytes=shm[0],
        shm_free_bytes=shm[1],
        open_files_soft=open_soft,
        open_files_hard=open_hard,
        memlock_soft_bytes=resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        max_processes_soft=resource.getrlimit(resource.RLIMIT_NPROC)[0],
        wsl=_machine.wsl(system.release),
        container=_machine.container(context.environ),
        disks=_disks.look(written_paths(context, environment, training), _mountinfo()),
        user_is_root=os.geteuid() == 0,
    )


def _cpus(quota: float | None) -> int:
    """CPUs that may be used: the affinity mask, and no more than the quota rounded up."""
    allowed = len(os.sched_getaffinity(0))
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def _shared_memory() -> tuple[int | None, int | None]:
    """(size, free) of /dev/shm in bytes; a bare folder on another file system is no shared memory."""
    try:
        state = os.statvfs("/dev/shm")  # noqa: S108 - the very folder that NCCL and data workers use
    except OSError:
        return None, None
    return state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize


def written_paths(context: Context, environment: Environment, training: Training | None) -> dict[str, str]:
    """Purpose -> absolute path of everything that a run writes to."""
    from doctor.facts.hub import cache_folder

    variables = environment.variables
    temporary = variables.get("TMPDIR") or "/tmp"  # noqa: S108 - what tempfile would take
    paths = {
        "cwd": ".",
        "output_dir": training.value("output_dir") if training else None,
        "hf cache": cache_folder(variables),
        "tmp": temporary,
    }
    home = variables.get("HOME") or context.environ.get("HOME") or "~"
    absolute = {}
    for purpose, path in paths.items():
        if not isinstance(path, str) or not path:
            continue
        expanded = home + path[1:] if path == "~" or path.startswith("~/") else path
        absolute[purpose] = os.path.normpath(os.path.join(context.cwd, expanded))  # noqa: PTH118 - no touching
    return absolute


def _mountinfo() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "replace")
    except OSError:
        return ""
