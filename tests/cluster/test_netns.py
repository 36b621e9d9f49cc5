"""Several hosts made of network name spaces: whether each reaches the master that the run names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from doctor.cluster.gathered import read

pytestmark = pytest.mark.process

_PORT = 29617
_MASTER = "10.213.77.1"
_NAMES = ("master", "fine", "filtered", "apart")
_TAG = f"dr{os.getpid() % 100000}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)


def _space(name: str) -> str:
    return f"{_TAG}-{name}"


@pytest.fixture(scope="module")
def hosts() -> Iterator[None]:
    """Four hosts on one bridge; "filtered" sends what is for the master into the void, "apart" has no way to it."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network name spaces need root and iproute2")
    with ExitStack() as undo:
        try:
            _lay(undo)
        except (subprocess.SubprocessError, OSError) as exc:
            pytest.skip(f"network name spaces cannot be made here: {getattr(exc, 'stderr', exc)}")
        yield


def _lay(undo: ExitStack) -> None:
    spaces = [_space(name) for name in ("switch", *_NAMES)]
    for space in spaces:
        _ip("netns", "add", space)
        undo.callback(_ip, "netns", "delete", space)
        _ip("-n", space, "link", "set", "lo", "up")
    switch = spaces[0]
    _ip("-n", switch, "link", "add", "br0", "type", "bridge")
    _ip("-n", switch, "link", "set", "br0", "up")
    for number, name in enumerate(_NAMES, 1):
        space, plug = _space(name), f"p{number}"
        _ip("-n", switch, "link", "add", plug, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("-n", switch, "link", "set", plug, "master", "br0", "up")
        # a mask of one address: the others are reached by the route that all but "apart" get
        _ip("-n", space, "addr", "add", f"10.213.77.{number}/32", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")
        if name != "apart":
            _ip("-n", space, "route", "add", "10.213.77.0/24", "dev", "eth0")
    nowhere = ("lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent")
    _ip("-n", _space("filtered"), "neigh", "replace", _MASTER, *nowhere)


def _collect(folder: Path) -> dict[str, str | None]:
    """What each host tells of its connection to the master; all ask at a time."""
    started = []
    for rank, name in enumerate(_NAMES):
        environ = {**os.environ, "MASTER_ADDR": _MASTER, "MASTER_PORT": str(_PORT), "NODE_RANK": str(rank)}
        command = [sys.executable, "-m", "doctor", "check", "--collect", str(folder)]
        started.append(subprocess.Popen(["ip", "netns", "exec", _space(name), *command], env=environ))
    assert [process.wait(60) for process in started] == [0] * len(_NAMES)
    told = {}
    for node in read([folder]).cluster.nodes:
        assert node.rank is not None
        told[_NAMES[node.rank]] = node.value("network").endpoint("master").connection
    return told


@pytest.mark.usefixtures("hosts")
def test_a_refusal_shows_the_master_there_and_silence_does_not(tmp_path: Path) -> None:
    expected = {"master": "refused", "fine": "refused", "filtered": "timed out", "apart": "unreachable"}
    assert _collect(tmp_path / "facts") == expected
    command = [sys.executable, "-m", "doctor", "check", "--from", str(tmp_path / "facts"), "--format", "json"]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    report = json.loads(judged.stdout)
    assert not report["crashed"]
    about = [each for each in report["findings"] if "MASTER_ADDR" in each["headline"] or _MASTER in each["headline"]]
    assert about, [each["headline"] for each in report["findings"]]


@pytest.mark.usefixtures("hosts")
def test_what_listens_there_accepts(tmp_path: Path) -> None:
    listen = (
        f"import socket,time; s=socket.create_server(('{_MASTER}', {_PORT})); print('up', flush=True); time.sleep(60)"
    )
    command = ["ip", "netns", "exec", _space("master"), sys.executable, "-c", listen]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"up\n"
            told = _collect(tmp_path / "facts")
        finally:
            server.kill()
    assert told == {"master": "accepted", "fine": "accepted", "filtered": "timed out", "apart": "unreachable"}
