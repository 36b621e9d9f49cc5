"""Which processes belong to a run: those below its launcher, those that bear its folder, and whom they talk to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from doctor.mend.processes.table import RunningProcess, below
from doctor.monitors.sampler.processes import Identity, identity
from doctor.run.folder import VARIABLE

_LAUNCHERS = frozenset({"launcher"})
_CALLED = {
    "vllm_engine": "vLLM engine", "vllm_worker": "vLLM worker", "vllm_server": "vLLM server",
    "sglang_engine": "SGLang scheduler", "sglang_worker": "SGLang worker", "sglang_server": "SGLang server",
    "loader": "worker",
    "launcher": "launcher",
}  # fmt: skip


def of_folder(run: Path, processes: Mapping[int, RunningProcess]) -> list[RunningProcess]:
    """Processes that bear a run's folder in their environment, and all below them."""
    wanted = os.path.realpath(run)
    roots = [
        each
        for each in processes.values()
        if each.environ.get(VARIABLE) and os.path.realpath(each.environ[VARIABLE]) == wanted
    ]
    return _with_children([each.pid for each in roots], processes)


def of_process(pid: int, processes: Mapping[int, RunningProcess]) -> list[RunningProcess]:
    """Processes of the run that one belongs to: by its run folder, else below the topmost launcher above it."""
    process = processes.get(pid)
    if process is None:
        return []
    folder = run_of(pid, processes)
    if folder is not None:
        found = of_folder(folder, processes)
        return found if any(each.pid == pid for each in found) else _with_children([pid], processes)
    return _with_children([_top(process, processes)], processes)


def run_of(pid: int, processes: Mapping[int, RunningProcess]) -> Path | None:
    """The run folder of a process, by its own environment or that of one above it; None where there is none."""
    seen: set[int] = set()
    while pid in processes and pid not in seen:
        seen.add(pid)
        folder = processes[pid].environ.get(VARIABLE)
        if folder and Path(folder).is_dir():
            return Path(folder)
        pid = processes[pid].parent
    return None


def _top(process: RunningProcess, processes: Mapping[int, RunningProcess]) -> int:
    found, seen = process.pid, {process.pid}
    while process.parent in processes and process.parent not in seen and process.parent > 1:
        process = processes[process.parent]
        seen.add(process.pid)
        if identity(process.pid).role in _LAUNCHERS:
            found = process.pid
    return found


def _with_children(roots: list[int], processes: Mapping[int, RunningProcess]) -> list[RunningProcess]:
    own = _above(os.getpid(), processes)
    found = {each.pid: each for root in roots for each in below(root, processes)}
    kept = [each for each in found.values() if each.pid not in own and not _is_doctors(each)]
    return sorted(kept, key=lambda each: each.pid)


def _above(pid: int, processes: Mapping[int, RunningProcess]) -> set[int]:
    """A process and those above it."""
    found: set[int] = set()
    while pid in processes and pid not in found:
        found.add(pid)
        pid = processes[pid].parent
    return found


def _is_doctors(process: RunningProcess) -> bool:
    """Whether it is a process that the doctor started beside the run: its sampler, its relay."""
    return "doctor.monitors.sampler" in process.command or "doctor.run.console" in process.command


def label(process: RunningProcess, who: Identity, parent: RunningProcess | None = None) -> str:
    """What to call a process: `rank 3`, else its role or what it runs, with its number."""
    if who.rank is not None and who.role == "trainer":
        return f"rank {who.rank}"
    if process.command.startswith("ray::"):
        return f"{process.command.split()[0]} (pid {process.pid})"
    if who.role in _CALLED:
        rank = f" of rank {who.rank}" if who.rank is not None else ""
        return f"{_CALLED[who.role]}{rank} (pid {process.pid})"
    if parent is not None and (parent.command == process.command or "multiprocessing" in process.command):
        return f"worker of {_script(parent)} (pid {process.pid})"
    return f"{_script(process)} (pid {process.pid})"


def _script(process: RunningProcess) -> str:
    words = process.command.split()
    script = next((each for each in words[1:] if each.endswith(".py")), None)
    if script is None and "-m" in words[:-1]:
        script = words[words.index("-m") + 1]
    return os.path.basename(script) if script else (os.path.basename(words[0]) if words else process.name)  # noqa: PTH119
