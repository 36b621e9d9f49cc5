"""Memory, limits, disks and the kind of machine."""

from __future__ import annotations

from doctor.base.record import record


@record
class Disk:
    """Free space of the file system that holds `path`, or would: it need not exist yet.

    `purpose`: "cwd", "output_dir", "hf cache", "tmp". `error`: why there is no answer ("did not answer within
    0.5 s"). `in_the_way`: what stands where a folder is to be, or above it, and is none: a file, a link that leads
    nowhere.
    """

    purpose: str
    path: str
    free_bytes: int | None = None
    free_inodes: int | None = None
    writable: bool | None = None
    filesystem: str | None = None
    error: str | None = None
    in_the_way: str | None = None


@record
class Host:
    """Args:
    memory_limit_bytes: the cgroup's limit when it is lower than the machine's memory, else None.
    open_files_soft/hard, memlock_soft_bytes: limits of a process started here; None = unlimited is -1.
    container: "docker", "podman", "kubernetes", "apptainer", "lxc", None outside of one; `wsl` 1, 2 or
        None.
    shm_unowned_bytes: of files in /dev/shm that no process has open or mapped; looked for where little is free, and
        only among this user's files and processes.
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
    shm_unowned_bytes: int | None = None
    wsl: int | None = None
    container: str | None = None
    disks: tuple[Disk, ...] = ()
    user_is_root: bool | None = None

    def disk(self, purpose: str) -> Disk | None:
        """Disk asked for a purpose."""
        return next((disk for disk in self.disks if disk.purpose == purpose), None)
