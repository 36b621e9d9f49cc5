"""Memory, limits, disks and containers, read from trees that the test lays out and from this machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from doctor.base.deadline import within
from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.readers.machine import cgroup, host, machine, shared_memory
from doctor.readers.machine import disks as _disks

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_version_2_limit_of_a_parent_group_counts(tmp_path):
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/slurm/job_7/step_0\n",
            "sys/fs/cgroup/slurm/job_7/step_0/memory.max": "max\n",
            "sys/fs/cgroup/slurm/job_7/memory.max": f"{64 * GIB}\n",
            "sys/fs/cgroup/slurm/memory.max": f"{512 * GIB}\n",
            "sys/fs/cgroup/slurm/job_7/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/slurm/cpu.max": "max 100000\n",
        },
    )
    assert cgroup.memory_limit_bytes(root) == 64 * GIB
    assert cgroup.cpu_quota(root) == 1.5


def test_version_1_limit_in_a_container_that_shows_the_hosts_path(tmp_path):
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "9:cpu,cpuacct:/docker/4f0c\n4:memory:/docker/4f0c\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{16 * GIB}\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "400000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    )
    assert cgroup.memory_limit_bytes(root) == 16 * GIB
    assert cgroup.cpu_quota(root) == 4.0


def test_no_limit_is_none(tmp_path):
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/\n3:cpu:/\n0::/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory.max": "max\n",
        },
    )
    assert cgroup.memory_limit_bytes(root) is None
    assert cgroup.cpu_quota(root) is None


@pytest.mark.parametrize(
    ("release", "kind"),
    [
        ("4.4.0-19041-Microsoft", 1),
        ("5.15.153.1-microsoft-standard-WSL2", 2),
        ("5.4.72-microsoft-standard", 2),
        ("5.15.0-105-generic", None),
    ],
)
def test_wsl_by_its_kernel(release, kind):
    assert machine.wsl(release) == kind


@pytest.mark.parametrize(
    ("environ", "files", "kind"),
    [
        ({}, {".dockerenv": ""}, "docker"),
        ({}, {"run/.containerenv": "", ".dockerenv": ""}, "podman"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {".dockerenv": ""}, "kubernetes"),
        ({"APPTAINER_CONTAINER": "/a.sif"}, {}, "apptainer"),
        ({}, {"run/systemd/container": "lxc\n"}, "lxc"),
        ({}, {"proc/1/cgroup": "0::/\n"}, None),
    ],
)
def test_kind_of_container(tmp_path, environ, files, kind):
    assert machine.container(environ, write(tmp_path, files)) == kind


def test_memory_in_bytes(tmp_path):
    root = write(tmp_path, {"proc/meminfo": "MemTotal:       65536 kB\nSwapTotal:   0 kB\nHugePages_Total:  0\n"})
    assert machine.memory(root) == {"MemTotal": 64 << 20, "SwapTotal": 0}


MOUNTS = (
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "40 22 0:35 / /data rw shared:9 - nfs4 server:/data rw\n"
    "41 22 0:36 / /with\\040space rw - xfs /dev/sdb rw\n"
)


def test_file_system_is_named_without_touching_it():
    disks = _disks.look({"output_dir": "/data/runs/new", "cwd": "/database", "tmp": "/with space/x"}, MOUNTS)
    assert [disk.filesystem for disk in disks] == ["nfs4", "ext4", "xfs"]


def test_a_path_that_does_not_exist_yet_is_measured_at_its_parent(tmp_path):
    (disk,) = _disks.look({"output_dir": str(tmp_path / "runs" / "one")}, "")
    state = os.statvfs(tmp_path)
    assert disk.error is None
    assert disk.writable is True
    assert disk.free_bytes == pytest.approx(state.f_bavail * state.f_frsize, rel=0.2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission(tmp_path):
    tmp_path.chmod(0o500)
    (disk,) = _disks.look({"output_dir": str(tmp_path / "run")}, "")
    assert disk.writable is False


def test_a_call_that_hangs_costs_only_its_time():
    started = time.monotonic()
    answered, value = within(0.1, lambda: time.sleep(20))
    assert (answered, value) == (False, None)
    assert time.monotonic() - started < 5


def test_this_machine(tmp_path):
    context = Context(cwd=tmp_path, environ={"HOME": str(tmp_path)})
    training = Training(arguments={"output_dir": Observed.written("output_dir", "out/run1")})
    found = host.collect(context, Environment({"HOME": str(tmp_path), "HF_HOME": "/opt/hf"}), training)
    assert found.hostname == os.uname().nodename
    assert found.memory_total_bytes > found.memory_available_bytes > 0
    assert 1 <= found.cpus <= os.cpu_count()
    assert found.disk("output_dir").path == str(tmp_path / "out/run1")
    assert found.disk("hf cache").path == "/opt/hf/hub"
    assert found.disk("tmp").path == "/tmp"
    assert found.disk("cwd").free_bytes > 0


def test_output_dir_in_the_home_folder(tmp_path):
    training = Training(arguments={"output_dir": Observed.written("output_dir", "~/run")})
    found = host.collect(Context(cwd=Path("/")), Environment({"HOME": str(tmp_path)}), training)
    assert found.disk("output_dir").path == str(tmp_path / "run")


def test_unreadable_output_dir_is_left_out(tmp_path):
    training = Training(arguments={"output_dir": Observed.written("output_dir", None, known=False, text="args.out")})
    assert host.collect(Context(cwd=tmp_path), Environment({}), training).disk("output_dir") is None


def test_files_without_an_owner_are_counted_where_little_is_free(tmp_path):
    """One file is open, one mapped, one left over."""
    import mmap

    size = 1 << 16
    for name in ("open", "mapped", "left"):
        (tmp_path / name).write_bytes(b"x" * size)
    mapped = os.open(tmp_path / "mapped", os.O_RDWR)
    with mmap.mmap(mapped, 0), (tmp_path / "open").open("rb"):
        os.close(mapped)
        assert shared_memory.unowned_bytes(100, 10, tmp_path) == size
    assert shared_memory.unowned_bytes(100, 10, tmp_path) == 3 * size
    assert shared_memory.unowned_bytes(100, 50, tmp_path) is None
