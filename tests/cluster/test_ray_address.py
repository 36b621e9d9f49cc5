"""A Ray head that was started at 0.0.0.0, and a node that joined it from another host (a network name space)."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

_TAG = f"da{os.getpid() % 100000}"
_HEAD, _OTHER = f"{_TAG}-head", f"{_TAG}-other"
_ADDRESS = "10.215.77.1:6399"
_START = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
_JOINED_S = 120.0


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)


def _lay(undo: ExitStack) -> None:
    """Two hosts with a wire between them."""
    for space in (_HEAD, _OTHER):
        _ip("netns", "add", space)
        undo.callback(_ip, "netns", "delete", space)
        _ip("-n", space, "link", "set", "lo", "up")
    _ip("-n", _HEAD, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", _OTHER)
    for number, space in enumerate((_HEAD, _OTHER), 1):
        _ip("-n", space, "addr", "add", f"10.215.77.{number}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")


def _start(undo: ExitStack, space: str, folder: Path, *options: str) -> None:
    """Start Ray on a host and wait until it says that it runs."""
    said = folder / f"{space}.log"
    with said.open("wb") as out:
        process = subprocess.Popen(
            ["ip", "netns", "exec", space, *_START, *options], stdout=out, stderr=out, start_new_session=True,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
        )  # fmt: skip
    undo.callback(_end, process)
    end = time.monotonic() + _JOINED_S
    while b"Ray runtime started" not in said.read_bytes():
        if time.monotonic() > end or process.poll() is not None:
            pytest.fail(said.read_text(errors="replace")[-2000:])
        time.sleep(0.5)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def cluster() -> Iterator[None]:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network name spaces need root and iproute2")
    folder = Path(tempfile.mkdtemp(prefix="da", dir="/tmp"))  # short, for sockets have 107 characters
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            _lay(undo)
        except (subprocess.SubprocessError, OSError) as exc:
            pytest.skip(f"network name spaces cannot be made here: {getattr(exc, 'stderr', exc)}")
        local = ("--head", "--node-ip-address=0.0.0.0", "--port=6399", "--include-dashboard=false")
        _start(undo, _HEAD, folder, *local, f"--temp-dir={folder}")
        _start(undo, _OTHER, folder, f"--address={_ADDRESS}", "--node-ip-address=10.215.77.2")
        yield


@pytest.mark.slow  # two Ray daemons of their own
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("cluster")
def test_a_head_at_all_addresses_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "doctor", "check", "--ray", _ADDRESS, "--python", sys.executable,
               "--node-timeout", "90", "--format", "json"]  # fmt: skip
    done = subprocess.run(
        ["ip", "netns", "exec", _HEAD, *command], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    found = [each for each in json.loads(done.stdout)["findings"] if each["id"] == "NCC8677/ray_node"]
    assert [each["nodes"]["count"] for each in found] == [1], done
    assert "by 0.0.0.0, where no other node can reach it" in found[0]["headline"]
    assert done.returncode == 1
