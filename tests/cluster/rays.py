"""A real Ray cluster of several nodes on this machine, for tests; in a process of its own, with its own folder."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("ray_nodes.py")


class Rays:
    """A running cluster: `address`, ids of its nodes, `environ` for what shall find it by "auto"."""

    def __init__(self, process: subprocess.Popen[str], told: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self._process = process
        self.address = str(told["address"])
        self.ids = [str(each["id"]) for each in told["nodes"]]
        self.raylets = [int(each["raylet"]) for each in told["nodes"]]
        self.environ = dict(environ)

    def kill(self, number: int) -> None:
        """Kill a node's raylet with -9."""
        self._say(f"kill {number}")

    def stop(self, number: int) -> None:
        """Freeze a node's raylet; its clean-up wakes it."""
        self._say(f"stop {number}")

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


def _started(nodes: Sequence[Mapping[str, Any]], environ: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(_SCRIPT), json.dumps(list(nodes))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
    )  # fmt: skip


def _told(process: subprocess.Popen[str]) -> Mapping[str, Any]:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()[-2000:]
    told: Mapping[str, Any] = json.loads(line)
    return told


@contextmanager
def ray_cluster(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Rays]:
    """A cluster with a node for each of `nodes`: {"cpus": 2, "env": {}}; skips where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    # its own folder, so that no other cluster of this machine is found; short, for sockets have 107 characters
    folder = tempfile.mkdtemp(prefix="dr", dir="/tmp")
    environ = {**os.environ, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0"}
    environ.pop("RAY_ADDRESS", None)
    process = _started(nodes, environ)
    try:
        yield Rays(process, _told(process), environ)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        shutil.rmtree(folder, ignore_errors=True)
