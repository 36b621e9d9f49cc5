"""A real Slurm cluster of several nodes on this machine, for tests: one slurmctld, and one slurmd for each node.

Each slurmd has a UTS name space, and so a host name, of its own; no munge, no accounting, no cgroups. Options:
https://slurm.schedmd.com/slurm.conf.html
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.ports import free_port

_PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "sinfo", "scontrol", "unshare")
_UP_S = 30.0
_GPUS = 8  # that each node claims to have, without a device behind them
_CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
TaskProlog={folder}/prolog
SlurmdParameters=config_overrides
GresTypes=gpu
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Slurm:
    """A running cluster: `names` of its nodes, `environ` for its commands."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder, self.names = folder, tuple(names)
        programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        self.environ = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": programs}

    def run(self, *words: str, cwd: Path, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm's (or any) to its end."""
        return subprocess.run(
            words, cwd=cwd, env=self.environ, capture_output=True, text=True, timeout=timeout_s, check=False
        )


@contextmanager
def slurm_cluster(names: Sequence[str], prolog: str = "") -> Iterator[Slurm]:
    """A cluster with nodes of these names; skips where Slurm or what it needs is not there.

    Args:
        names: of the nodes, and their host names.
        prolog: shell lines run before each task; what they print as `export NAME=VALUE` is set for it.

    """
    if missing := [program for program in _PROGRAMS if shutil.which(program) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("slurmd needs root, and host names of its own need UTS name spaces")
    with ExitStack() as undo:
        folder = Path(tempfile.mkdtemp(prefix="doctor-slurm-"))
        undo.callback(shutil.rmtree, folder, ignore_errors=True)
        slurm = Slurm(folder, names)
        _configure(folder, names, prolog)
        _start(undo, slurm, ["slurmctld", "-D"])
        for name in names:
            command = ["unshare", "--uts", "sh", "-c", f"hostname {name} && exec slurmd -D"]
            _start(undo, slurm, command)
        _wait_until_idle(slurm)
        yield slurm


def _configure(folder: Path, names: Sequence[str], prolog: str) -> None:
    ports = [free_port() for _ in range(len(names) + 1)]
    nodes = [
        f"NodeName={name} NodeAddr=127.0.0.1 Port={port} CPUs=2 Gres=gpu:{_GPUS} State=UNKNOWN\n"
        for name, port in zip(names, ports[1:], strict=True)
    ]
    text = _CONFIG.format(host=socket.gethostname(), port=ports[0], folder=folder)
    (folder / "slurm.conf").write_text("".join(nodes) + text)
    for number in range(_GPUS):
        (folder / f"gpu{number}").touch()
    (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-{_GPUS - 1}]\n")
    for each in ("state", *(f"spool-{name}" for name in names)):
        (folder / each).mkdir()
    (folder / "prolog").write_text(f"#!/bin/sh\n{prolog}\n")
    (folder / "prolog").chmod(0o755)


def _start(undo: ExitStack, slurm: Slurm, command: list[str]) -> None:
    process = subprocess.Popen(
        command, env=slurm.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    undo.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_idle(slurm: Slurm) -> None:
    end = time.monotonic() + _UP_S
    while time.monotonic() < end:
        told = slurm.run("sinfo", "--noheader", "--Node", "--format=%T", cwd=slurm.folder)
        if told.stdout.split() == ["idle"] * len(slurm.names):
            return
        time.sleep(0.2)
    logs = "\n".join(path.read_text(errors="replace")[-400:] for path in sorted(slurm.folder.glob("*.log")))
    pytest.fail(f"Slurm does not start: {told.stdout} {told.stderr} {logs}")
