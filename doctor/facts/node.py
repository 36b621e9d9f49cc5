"""What tells one machine of a cluster from another: identity, place in the launch, clock, mounts, RDMA ports, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.record import record


@record
class Clock:
    """The kernel's account of its clock; `synchronised` None with `error` where it may not be asked.

    `offset_s`: what NTP has still to correct; `max_error_s`: the most that the clock is wrong by, if synchronised.
    A virtual machine whose host keeps its time may be right and yet not "synchronised".
    """

    synchronised: bool | None = None
    offset_s: float | None = None
    max_error_s: float | None = None
    error: str | None = None


@record
class Port:
    """A port of an RDMA device: `state` "ACTIVE", `physical_state` "LinkUp"; `link_layer` "InfiniBand", "Ethernet".

    `gids`: index of each address that is set -> its kind, "RoCE v2", "IB/RoCE v1"; empty where they were not read.
    """

    device: str
    number: int
    state: str | None = None
    physical_state: str | None = None
    rate_gbps: float | None = None
    link_layer: str | None = None
    gids: Mapping[int, str] = field(default_factory=dict)


@record
class UsedPath:
    """A path that the run uses, and what holds it.

    Args:
        purpose: "cwd", "script", "model", "output_dir", "hf cache", "tmp", "ray session", "accelerate config",
            "deepspeed config".
        exists: None where the file system did not answer in time.
        mount, filesystem, source: mount point, "nfs4", "server:/export".
        over_network: the file system is another machine's.
        free_bytes, total_bytes: of the file system, None where the path does not exist.

    """

    purpose: str
    path: str
    exists: bool | None = None
    mount: str | None = None
    filesystem: str | None = None
    source: str | None = None
    over_network: bool = False
    free_bytes: int | None = None
    total_bytes: int | None = None


@record
class Node:
    """One machine among others.

    Args:
        boot_id: of the running kernel: containers of one machine share it. `machine_id`: a hash of the installation's.
        launcher: "slurm", "torchrun", "mpi", "kubernetes", None: whose variables told the next four.
        rank: number of this node; `nodes` how many there are; `node_names` as Slurm writes them, "node[01-04]"; `job`.
        clock: of the system, and how it is kept right.
        mounts: mount point -> "nfs4 server:/export" of file systems of other machines.
        checksums: path -> first 16 hexadecimal digits of SHA-256 of the script, the model's config.json and the
            launch configurations, those that are here.
        kernel_modules: name -> version ("" where it states none) of loaded drivers; None where that cannot be seen.

    """

    boot_id: str | None = None
    machine_id: str | None = None
    cpu_model: str | None = None
    numa_nodes: int | None = None
    launcher: str | None = None
    rank: int | None = None
    nodes: int | None = None
    node_names: str | None = None
    job: str | None = None
    clock: Clock = field(default_factory=Clock)
    mounts: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[UsedPath, ...] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)
    kernel_modules: Mapping[str, str] | None = None
    ports: tuple[Port, ...] = ()

    def path(self, purpose: str) -> UsedPath | None:
        """The path of a purpose."""
        return next((each for each in self.paths if each.purpose == purpose), None)
