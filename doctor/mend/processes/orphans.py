"""Workers that outlived their run, each with the proof.

A worker of the stack never starts by itself: multiprocessing's and vLLM's children have a Python parent, Ray's have the
raylet, torchrun's have the agent. The kernel gives a child whose parent has died to process 1 or to the next
subreaper (https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html). So a worker is an orphan when its
parent is a process that cannot have started it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from doctor.mend.processes.table import RunningProcess, age_s, below

#: `python -c "from multiprocessing.spawn import spawn_main; ..."`
#: (https://github.com/python/cpython/blob/v3.13.0/Lib/multiprocessing/spawn.py)
_MULTIPROCESSING = re.compile(r"from multiprocessing\.(spawn|forkserver) import ")
#: titles that vLLM gives (https://github.com/vllm-project/vllm/blob/main/vllm/utils/system_utils.py)
_VLLM = re.compile(r"^VLLM::|^EngineCore|^VllmWorker")
_RAY = re.compile(r"^ray::")
_PYTHON = re.compile(
    r"^(python|pypy|pt_main_thread|torchrun|accelerate|deepspeed|vllm|ray|trl)[\d.]*$|^VLLM::|^EngineCore"
)
_RAYLET = re.compile(r"^raylet$")
#: what people start from a training script and let run on purpose
_SERVERS = re.compile(r"vllm serve|api_server|vllm[-_]serve|ray start|jupyter|tensorboard|sglang|ollama")
#: variable that torchrun sets in its children (https://docs.pytorch.org/docs/stable/elastic/run.html)
_TORCHRUN = "TORCHELASTIC_RUN_ID"
_RUN = "DOCTOR_RUN_DIR"

#: who takes over children of the dead; a launcher is none of these
_REAPERS = re.compile(
    r"^(systemd|init|tini|dumb-init|docker-init|catatonit|s6-svscan|runit|runsvdir|supervisord|podman)"
)


@dataclass(frozen=True)
class Orphan:
    """A worker without its run.

    Args:
        kind: "multiprocessing", "vllm", "ray", "torchrun".
        parent: who has it now, "systemd (1)".
        proof: what shows that its run is dead, as (key, values) for the phrases that the commands have.
        tree: it and all below it, parents first.
        gpus: devices that any of them holds; gpu_bytes what NVML counts for them, None where it does not.

    """

    process: RunningProcess
    kind: str
    parent: str
    proof: tuple[tuple[str, Mapping[str, object]], ...]
    tree: tuple[RunningProcess, ...]
    gpus: tuple[str, ...] = ()
    gpu_bytes: int | None = None


def find(
    processes: Mapping[int, RunningProcess],
    *,
    uid: int,
    gpu_bytes: Mapping[int, int | None] | None,
    gpu_files_of: Callable[[int], tuple[str, ...]],
    without_gpu: bool = False,
) -> list[Orphan]:
    """Orphans of one user, oldest first.

    Args:
        processes: all of them, by id.
        uid: the user's.
        gpu_bytes: pid -> memory that NVML counts; None without NVML.
        gpu_files_of: devices that a process holds open.
        without_gpu: those that hold no GPU too.

    """
    found = []
    for each in processes.values():
        kind = kind_of(each)
        if each.uid != uid or each.state == "Z" or kind is None or each.pid == os.getpid():
            continue
        parent = processes.get(each.parent)
        if not _cannot_have_started(parent, kind):
            continue
        tree = tuple(below(each.pid, processes))
        files = tuple(sorted({file for one in tree for file in gpu_files_of(one.pid)}))
        counted = [gpu_bytes[one.pid] for one in tree if gpu_bytes is not None and one.pid in gpu_bytes]
        if not files and not counted and not without_gpu:
            continue
        held = sum(number for number in counted if number is not None) if counted else None
        found.append(Orphan(each, kind, _called(parent, each.parent), _proof(each, processes), tree, files, held))
    return sorted(found, key=lambda orphan: orphan.process.start)


def kind_of(process: RunningProcess) -> str | None:
    """Whose worker a process is, None for what may stand alone."""
    if _VLLM.search(process.command) or _VLLM.search(process.name):
        return "vllm"
    if _RAY.search(process.command) or _RAY.search(process.name):
        return "ray"
    if _SERVERS.search(process.command):
        return None
    if _MULTIPROCESSING.search(process.command):
        return "multiprocessing"
    return "torchrun" if _TORCHRUN in process.environ else None


def _cannot_have_started(parent: RunningProcess | None, kind: str) -> bool:
    """Whether this parent came after the one that started a worker; unknown is no."""
    if parent is None:
        return False
    if kind == "torchrun":  # anything may stand between the agent and its worker: a shell, numactl
        return _TORCHRUN not in parent.environ and (
            _REAPERS.search(parent.name) is not None or (parent.pid == 1 and not _is(parent, _PYTHON))
        )
    if kind == "ray":
        return not _is(parent, _RAYLET) and not _is(parent, _PYTHON)
    return not _is(parent, _PYTHON)


def _is(process: RunningProcess, pattern: re.Pattern[str]) -> bool:
    names = (process.name, process.program or "", os.path.basename(process.command.split(" ")[0]))  # noqa: PTH119
    return any(pattern.search(each) for each in names)


def _called(process: RunningProcess | None, pid: int) -> str:
    return f"{process.name} ({pid})" if process is not None else str(pid)


def _proof(
    process: RunningProcess, processes: Mapping[int, RunningProcess]
) -> tuple[tuple[str, Mapping[str, object]], ...]:
    parent = processes.get(process.parent)
    proof: list[tuple[str, Mapping[str, object]]] = [("parent", {"parent": _called(parent, process.parent)})]
    if process.session not in processes:
        proof.append(("session", {"session": process.session}))
    if process.group not in processes:
        proof.append(("group", {"group": process.group}))
    if ended := ended_run(process):
        proof.append(("run", {"folder": ended}))
    age = age_s(process)
    if age is not None:
        proof.append(("age", {"age": f"{age / 3600:.1f} h" if age >= 3600 else f"{age / 60:.0f} min"}))
    return tuple(proof)


def ended_run(process: RunningProcess) -> str | None:
    """The run folder that a process belongs to, where that run has ended."""
    folder = process.environ.get(_RUN)
    if not folder:
        return None
    try:
        told = json.loads(Path(folder, "run.json").read_bytes())
    except (OSError, ValueError):
        return None
    return folder if isinstance(told, dict) and told.get("ended_ns") else None


def still_one(orphan: Orphan, processes: Iterable[RunningProcess]) -> bool:
    """Whether it is the same process as before, with the same parent."""
    return any(
        (each.pid, each.start, each.parent) == (orphan.process.pid, orphan.process.start, orphan.process.parent)
        for each in processes
    )
