"""What tells a machine of a cluster from the others."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts.node import Node
from doctor.readers.command import launched_nodes
from doctor.readers.machine import kernel_clock, rdma
from doctor.readers.machine import mounts as _mounts
from tests.facts.environments import facts

_MOUNTINFO = r"""
22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw
40 22 0:40 / /data rw - nfs4 filer:/export/data rw,vers=4.2
41 40 259:2 / /data/local\040disk rw - xfs /dev/nvme1n1 rw
42 22 0:50 / /fsx rw - lustre 10.0.0.1@tcp:/fsx rw
43 22 0:51 / /mnt/s3 rw - fuse.mount-s3 mountpoint-s3 rw
44 22 0:52 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw
""".strip()


def test_the_file_system_under_a_path_is_the_nearest_mount(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(_MOUNTINFO)
    mounts = _mounts.read(tmp_path / "mountinfo")
    under = {path: _mounts.above(path, mounts) for path in ("/data/run", "/data/local disk/x", "/database", "/fsx")}
    assert {path: each and each.kind for path, each in under.items()} == {
        "/data/run": "nfs4",
        "/data/local disk/x": "xfs",
        "/database": "ext4",
        "/fsx": "lustre",
    }
    assert dict(_mounts.over_network(mounts)) == {
        "/data": "nfs4 filer:/export/data",
        "/fsx": "lustre 10.0.0.1@tcp:/fsx",
        "/mnt/s3": "fuse.mount-s3 mountpoint-s3",
    }
    assert _mounts.read(tmp_path / "none") == ()


def test_rdma_ports_are_read_as_the_kernel_shows_them(tmp_path: Path) -> None:
    for device, state, physical, rate, layer in (
        ("mlx5_0", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)", "InfiniBand"),
        ("mlx5_1", "1: DOWN", "3: Disabled", "2.5 Gb/sec (1X SDR)", "Ethernet"),
    ):
        folder = tmp_path / device / "ports" / "1"
        folder.mkdir(parents=True)
        for name, text in (("state", state), ("phys_state", physical), ("rate", rate), ("link_layer", layer)):
            (folder / name).write_text(text + "\n")
    up, down = rdma.ports(tmp_path)
    assert (up.device, up.number, up.state, up.physical_state, up.rate_gbps) == ("mlx5_0", 1, "ACTIVE", "LinkUp", 400)
    assert (down.state, down.rate_gbps, down.link_layer) == ("DOWN", 2.5, "Ethernet")
    assert rdma.ports(tmp_path / "none") == ()


@pytest.mark.parametrize(
    ("variables", "launcher", "rank", "nodes"),
    [
        ({"GROUP_RANK": "1", "GROUP_WORLD_SIZE": "4", "RANK": "9", "SLURM_JOB_ID": "7"}, "torchrun", 1, 4),
        ({"SLURM_JOB_ID": "7", "SLURM_NODEID": "3", "SLURM_JOB_NUM_NODES": "8"}, "slurm", 3, 8),
        ({"SLURM_JOB_ID": "7", "SLURM_NODEID": "0", "SLURM_JOB_NUM_NODES": "8", "SLURM_STEP_NUM_NODES": "2"},
         "slurm", 0, 2),
        ({"OMPI_COMM_WORLD_SIZE": "16", "OMPI_COMM_WORLD_LOCAL_SIZE": "8"}, "mpi", None, 2),
        ({"OMPI_COMM_WORLD_SIZE": "9", "OMPI_COMM_WORLD_LOCAL_SIZE": "8"}, "mpi", None, None),
        ({"PET_NNODES": "2", "PET_NODE_RANK": "1"}, "kubernetes", 1, 2),
        ({"PET_NNODES": "1:4", "JOB_COMPLETION_INDEX": "0"}, "kubernetes", 0, None),
        ({"NODE_RANK": "5"}, None, 5, None),
        ({}, None, None, None),
    ],
)  # fmt: skip
def test_the_place_in_the_launch_is_told_by_variables(
    variables: dict[str, str], launcher: str | None, rank: int | None, nodes: int | None
) -> None:
    placed = launched_nodes.placed(variables)
    assert (placed.launcher, placed.rank, placed.nodes) == (launcher, rank, nodes)


def test_the_kernel_tells_of_its_clock() -> None:
    clock = kernel_clock.look()
    if clock.error is None:
        assert clock.synchronised in {True, False}
        assert clock.max_error_s is not None
        assert 0 <= clock.max_error_s <= 16.1  # the kernel's own limit: NTP_PHASE_LIMIT


def test_this_machine_and_the_files_of_the_run(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "qwen2"}')
    script = tmp_path / "train.py"
    script.write_text(f"from trl import GRPOTrainer\nGRPOTrainer(model={str(model)!r}).train()\n")
    node = facts(Context(("python", "train.py"), tmp_path), "node")["node"].value
    assert isinstance(node, Node)
    assert node.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert node.checksums == {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in (script, model / "config.json")
    }
    used = node.path("script")
    assert used is not None
    assert used.exists
    assert used.filesystem
    assert used.total_bytes


def test_addresses_of_a_port_are_read_by_their_index(tmp_path: Path) -> None:
    """An unset one is zeros, and its kind cannot be read."""
    folder = tmp_path / "mlx5_0" / "ports" / "1"
    for index, (gid, kind) in enumerate((("fe80::1", "IB/RoCE v1"), ("0000:0000:0000", None), ("::ffff:a", "RoCE v2"))):
        (folder / "gids").mkdir(parents=True, exist_ok=True)
        (folder / "gid_attrs" / "types").mkdir(parents=True, exist_ok=True)
        (folder / "gids" / str(index)).write_text(f"{gid}\n")
        if kind is not None:
            (folder / "gid_attrs" / "types" / str(index)).write_text(f"{kind}\n")
    (port,) = rdma.ports(tmp_path, gids=frozenset(range(5)))
    assert dict(port.gids) == {0: "IB/RoCE v1", 2: "RoCE v2"}
    assert dict(rdma.ports(tmp_path)[0].gids) == {}
