"""A real Ray cluster of several nodes on this machine, for tests; in a process of its own, with its own folder."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("ray_nodes.py")
_TRIES = 3


class Rays:
    """A running cluster: `address`, ids of its nodes, `environ` for what shall find it by "auto".

    `started_s`: what its start took, which tells how busy this machine is.
    """

    def __init__(
        self, process: subprocess.Popen[str], told: Mapping[str, Any], environ: Mapping[str, str], started_s: float
    ) -> None:
        self.process = process
        self.started_s = started_s
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
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


def _started(nodes: Sequence[Mapping[str, Any]], environ: Mapping[str, str]) -> Rays:
    """Start it; again where the machine is so busy that Ray gives up on a node of its own after 30 s."""
    for _ in range(_TRIES):
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, str(_SCRIPT), json.dumps(list(nodes))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        if line:
            return Rays(process, json.loads(line), environ, time.monotonic() - began)
        said = process.stderr.read()
        _end(process)
        if "timed out during startup" not in said:
            break
    pytest.fail(said[-2000:])


def _end(process: subprocess.Popen[str]) -> None:
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


@contextmanager
def ray_cluster(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Rays]:
    """A cluster with a node for each of `nodes`: {"cpus": 2, "env": {}}; skips where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    # its own folder, so that no other cluster of this machine is found; short, for sockets have 107 characters
    folder = tempfile.mkdtemp(prefix="dr", dir="/tmp")
    environ = {
        **os.environ,
        "RAY_TMPDIR": folder,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_prestart_worker_first_driver": "0",
    }
    environ.pop("RAY_ADDRESS", None)
    try:
        rays = _started(nodes, environ)
        try:
            yield rays
        finally:
            _end(rays.process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
