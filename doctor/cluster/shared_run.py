"""A run folder that several machines write into: who samples, who keeps its record, and under which names.

Every machine writes files of its own, named after it; of the processes of one machine the first samples.
Variables: SLURM_LOCALID, SLURM_PROCID (https://slurm.schedmd.com/srun.html, OUTPUT ENVIRONMENT VARIABLES), LOCAL_RANK,
RANK (https://docs.pytorch.org/docs/stable/elastic/run.html).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from doctor.run.folder import RunDir, host_name

_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_GLOBAL = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_MOST_NAMES = 1000
_WRITTEN_S = 2.0  # from the making of a small file to its content, at the longest


def samples(environ: Mapping[str, str]) -> bool:
    """Whether this process is the one of its machine that starts the sampler."""
    return _number(environ, _LOCAL) == 0


def launched(environ: Mapping[str, str]) -> bool:
    """Whether a launcher started this process, perhaps with others of the same machine."""
    return any(environ.get(name, "").isdecimal() for name in _LOCAL)


def keeps_record(environ: Mapping[str, str]) -> bool:
    """Whether this process writes what there is once a run: `run.json`, the summary."""
    return samples(environ) and _number(environ, _GLOBAL) == 0


def _number(environ: Mapping[str, str], names: tuple[str, ...]) -> int:
    """The first of these variables that tells a number; 0 where none does: a process alone is the first."""
    return next((int(text) for name in names if (text := environ.get(name, "")).isdecimal()), 0)


def unheard(run: RunDir) -> list[str]:
    """Live nodes of the cluster that was to be sampled of which nothing was written."""
    told = [node for each in run.read_events() if each["data"].get("what") == "nodes" for node in each["data"]["nodes"]]
    return sorted({node["name"] for node in told if node["alive"] and not run.host(node["name"]).exists()})


def own_name(run: RunDir, machine: str | None = None) -> str:
    """Name of this machine in the run, which no other machine has there: its host name, or one with a number behind.

    Args:
        run: the shared folder.
        machine: what tells machines of one name apart; where None, the boot id with the id of the UTS name space.

    Raises:
        OSError: the folder cannot be written.

    """
    machine = machine or _machine()
    folder = run.path / "names"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, _MOST_NAMES):
        name = host_name() if number == 1 else f"{host_name()}-{number}"
        if _claimed(folder / name, machine):
            return name
    raise FileExistsError(f"{folder} holds {_MOST_NAMES} machines of this name")


def _claimed(path: Path, machine: str) -> bool:
    """Whether a name is ours: taken now, or by another process of this machine before."""
    try:
        with path.open("x", encoding="ascii") as file:  # O_EXCL: one of all machines succeeds
            file.write(machine + "\n")
    except FileExistsError:
        end = time.monotonic() + _WRITTEN_S
        while not (text := path.read_text("ascii", "replace")).endswith("\n") and time.monotonic() < end:
            time.sleep(0.05)
        return text == machine + "\n"
    return True


def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot} {Path('/proc/self/ns/uts').stat().st_ino}"
