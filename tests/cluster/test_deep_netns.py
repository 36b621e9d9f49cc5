"""Five hosts made of network name spaces, one of them behind a slow wire: the measurement names it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from doctor.base.codec import load
from doctor.base.evidence import Observed
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.collectives import Collectives
from tests.cluster.test_deep import findings

pytestmark = pytest.mark.process

_HOSTS, _SLOW = 5, 2
_TAG = f"dd{os.getpid() % 100000}"
_PROGRAM = """\
import json, os, sys
from doctor.base.codec import dump
from doctor.readers.machine.measuring import measure
from doctor.base.fact import Meeting
node, nodes, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
told = measure(Meeting(node, nodes, "t", 60.0, folder=folder), sys.executable, dict(os.environ), None)
with open(f"{folder}/{node}.json", "w") as out:
    json.dump(dump(told), out)
"""


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=20)


@pytest.fixture(scope="module")
def hosts() -> Iterator[list[str]]:
    """Name spaces on one bridge."""
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None:
        pytest.skip("network name spaces with a slow wire need root, ip and tc")
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    with ExitStack() as undo:
        try:
            yield _lay(undo)
        except (subprocess.SubprocessError, OSError) as exc:
            pytest.skip(f"network name spaces cannot be made here: {getattr(exc, 'stderr', exc)}")


def _lay(undo: ExitStack) -> list[str]:
    switch, *spaces = (f"{_TAG}-{name}" for name in ("switch", *range(_HOSTS)))
    for space in (switch, *spaces):
        _run("ip", "netns", "add", space)
        undo.callback(_run, "ip", "netns", "delete", space)
        _run("ip", "-n", space, "link", "set", "lo", "up")
    _run("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
    _run("ip", "-n", switch, "link", "set", "br0", "up")
    for number, space in enumerate(spaces, 1):
        _run("ip", "-n", switch, "link", "add", f"p{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
        _run("ip", "-n", switch, "link", "set", f"p{number}", "master", "br0", "up")
        _run("ip", "-n", space, "addr", "add", f"10.214.77.{number}/24", "dev", "eth0")
        _run("ip", "-n", space, "link", "set", "eth0", "up")
    slow = ("root", "tbf", "rate", "20mbit", "burst", "32k", "latency", "50ms")
    _run("tc", "-n", spaces[_SLOW], "qdisc", "add", "dev", "eth0", *slow)
    return spaces


def test_the_host_behind_a_slow_wire_is_named(hosts: list[str], tmp_path: Path) -> None:
    environ = {**os.environ, "GLOO_SOCKET_IFNAME": "eth0"}
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", space, sys.executable, "-c", _PROGRAM, str(node), str(_HOSTS), str(tmp_path)],
            env=environ,
        )
        for node, space in enumerate(hosts)
    ]
    assert [each.wait(250) for each in running] == [0] * _HOSTS
    told = [load(Collectives, json.loads((tmp_path / f"{node}.json").read_text())) for node in range(_HOSTS)]
    nodes = tuple(ClusterNode(f"n{each.node}", facts={"collectives": Observed.seen(each)}) for each in told)
    (found,) = findings(Cluster("folder", nodes))
    assert found.problem.id == "NCC022"
    assert found.where.host == f"n{_SLOW}"
    assert re.match(rf"`n{_SLOW}` exchanges [12]\.\d+ MB/s with the others, which reach", found.words().headline)
    assert found.confidence == "confirmed"
