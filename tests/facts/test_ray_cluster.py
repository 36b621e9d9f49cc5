"""A Ray cluster's address and versions, from files, a listening socket and a process tree that the test lays out."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts import ray_cluster
from doctor.facts.environment import Environment
from doctor.readers.machine import ray_cluster as ray_cluster_reader
from doctor.readers.machine import ray_processes


def collect(**variables: str) -> ray_cluster.RayCluster:
    return ray_cluster_reader.collect(Context(), Environment(variables))


def daemon(proc: Path, package: Path, pid: int = 42, gcs: str = "10.0.0.5:6379", gone: str = "") -> None:
    """A raylet as /proc shows one of Ray 2.56."""
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    program = f"{package}/core/src/ray/raylet/raylet"
    words = [
        program,
        "--node_ip_address=10.0.0.6",
        f"--gcs-address={gcs}",
        "--session_dir=/tmp/ray/session_x",
        "--head",
    ]
    (folder / "comm").write_text("raylet\n")
    (folder / "cmdline").write_text("\0".join(words) + "\0")
    (folder / "exe").symlink_to(program + gone)


def ray_package(folder: Path, version: str) -> Path:
    package = folder / "lib/python3.11/site-packages/ray"
    package.mkdir(parents=True)
    (package / "_version.py").write_text(f'version = "{version}"\ncommit = "637fd06"\n')
    return package


def test_daemon_tells_its_versions_by_the_package_it_lies_in(tmp_path):
    daemon(tmp_path / "proc", ray_package(tmp_path, "2.56.0"))
    (tmp_path / "proc" / "43").mkdir()
    (tmp_path / "proc" / "43" / "comm").write_text("python\n")
    (found,) = ray_processes.raylets(tmp_path / "proc")
    assert (found.pid, found.gcs_address, found.session_dir) == (42, "10.0.0.5:6379", "/tmp/ray/session_x")
    assert (found.version, found.python_version, found.node_address) == ("2.56.0", "3.11", "10.0.0.6")


def test_a_package_replaced_under_the_cluster_tells_nothing(tmp_path):
    daemon(tmp_path / "proc", ray_package(tmp_path, "2.57.0"), gone=" (deleted)")
    (found,) = ray_processes.raylets(tmp_path / "proc")
    assert (found.version, found.python_version) == (None, None)


def test_variable_wins_over_the_file(tmp_path):
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1\n")
    found = collect(RAY_ADDRESS="127.0.0.1:2", RAY_TMPDIR=str(tmp_path))
    assert (found.address, found.address_from, found.answers) == ("127.0.0.1:2", "RAY_ADDRESS", False)


@pytest.mark.parametrize("variable", ["RAY_TMPDIR", "TMPDIR"])
@pytest.mark.parametrize("named", ["", "auto"])
def test_file_that_ray_start_leaves(tmp_path, variable, named):
    (tmp_path / "ray" / "session_1").mkdir(parents=True)
    (tmp_path / "ray" / "session_latest").symlink_to("session_1")
    with socket.socket() as gcs:
        gcs.bind(("127.0.0.1", 0))
        gcs.listen()
        address = f"127.0.0.1:{gcs.getsockname()[1]}"
        (tmp_path / "ray" / "ray_current_cluster").write_text(address)
        found = collect(**{variable: str(tmp_path), "RAY_ADDRESS": named})
    assert (found.address, found.answers) == (address, True)
    assert found.address_from == str(tmp_path / "ray" / "ray_current_cluster")
    assert found.session_dir == str(tmp_path / "ray" / "session_1")


def test_local_means_a_cluster_of_its_own(tmp_path):
    found = collect(RAY_ADDRESS="local", RAY_TMPDIR=str(tmp_path))
    assert (found.address, found.address_from, found.answers) == (None, "RAY_ADDRESS", None)


@pytest.mark.parametrize("address", ["nonsense", "ray://", "[::1", "host:port", "x" * 500])
def test_addresses_without_a_port_are_not_called(tmp_path, address):
    assert collect(RAY_ADDRESS=address, RAY_TMPDIR=str(tmp_path)).answers is None


def test_password_in_the_address_is_not_kept(tmp_path):
    found = collect(RAY_ADDRESS="ray://user:s3cretpass@127.0.0.1:1", RAY_TMPDIR=str(tmp_path))
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("gcs", "address", "same"),
    [
        ("10.0.0.5:6379", "10.0.0.5:6379", True),
        ("10.0.0.5:6379", "127.0.0.1:6379", True),
        ("10.0.0.5:6379", "localhost:6380", False),
        ("10.0.0.5:6379", "10.0.0.9:6379", False),
        ("10.0.0.5:6379", "ray://localhost:10001", True),
    ],
)
def test_which_cluster_a_daemon_belongs_to(gcs, address, same):
    assert ray_cluster_reader._is_at(gcs, address, *ray_cluster_reader._host_and_port(address)) is same
