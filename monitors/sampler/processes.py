"""Who a process of the run is: its role and rank, from its environment, its command line and its ancestors.

Ranks: torchrun, accelerate and deepspeed set RANK in each worker
(https://docs.pytorch.org/docs/stable/elastic/run.html).
Names: vLLM titles its processes "VLLM::EngineCore", "VLLM::Worker..." (set_process_title in
https://github.com/vllm-project/vllm/blob/main/vllm/utils/system_utils.py), SGLang "sglang::scheduler_TP0",
"sglang::detokenizer", "sglang::data_parallel_controller" (run_scheduler_process of
https://github.com/sgl-project/sglang/blob/v0.4.6/python/sglang/srt/managers/scheduler.py and its neighbours), Ray
"ray::Actor.method" (https://docs.ray.io/en/latest/ray-observability/user-guides/cli-sdk.html). A title overwrites what
/proc shows of the environment, so the rank of such a process is looked for in its ancestors.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from doctor.readers.machine.gpu_processes import describe

_MOST_BYTES = 1 << 18
_MOST_ANCESTORS = 12

_VLLM_ENGINE = re.compile(r"VLLM::EngineCore|multiproc_engine|vllm.*EngineCore", re.IGNORECASE)
_VLLM_WORKER = re.compile(r"VLLM::Worker|VllmWorker", re.IGNORECASE)
_VLLM_SERVER = re.compile(
    r"(^|/)vllm (serve|chat)\b|vllm\.entrypoints\.|VLLM::APIServer|(^|/|\s)trl vllm-serve\b|vllm_serve(\.py)?\b"
)
_SGLANG_ENGINE = re.compile(r"^sglang::(?:\w{0,40}scheduler|gpu_worker)")
_SGLANG_WORKER = re.compile(r"^sglang::")
_SGLANG_SERVER = re.compile(r"\bsglang\.launch_server\b|(^|/)sglang serve\b|\bsglang_router\.launch_")
_RAY_WORKER = re.compile(r"^ray::")
_RAY = re.compile(r"(^|/)(raylet|gcs_server|plasma_store)\b|ray/dashboard|ray start\b")
_LAUNCHER = re.compile(
    r"(^|/|\s)(torchrun|accelerate launch|deepspeed|srun|mpirun|mpiexec)(\s|$)|torch\.distributed\.(run|launch)\b|"
    r"accelerate\.commands\.(launch|accelerate_cli)|deepspeed\.launcher\."
)
#: roles whose processes have overwritten their environment with a title
_TITLED = frozenset({"vllm_engine", "vllm_worker", "sglang_engine", "sglang_worker"})
_GPU_DEVICE = re.compile(r"/dev/nvidia\d+")


@dataclass(frozen=True)
class Identity:
    """A process; None is "not told"."""

    pid: int
    name: str | None = None
    role: str | None = None
    rank: int | None = None
    parent: int | None = None


def identify(pid: int, proc: Path = Path("/proc")) -> Identity:
    """Who a process id of NVML's list is; nothing but the id where /proc does not show it or shows another's."""
    seen = describe(pid, None, proc)
    if seen.name is None:
        return Identity(pid)
    return identity(pid, proc)


def identity(pid: int, proc: Path = Path("/proc")) -> Identity:
    """Who a process of this PID name space is."""
    try:
        name, parent = name_and_parent(pid, proc)
    except (OSError, ValueError):
        return Identity(pid)
    command = command_line(pid, proc)
    role = _role(command)
    rank = _rank(pid, proc)
    if role is None and rank is not None:
        # workers of a data loader come from the trainer: forked they have its command, spawned multiprocessing's own
        child = command == command_line(parent, proc) or "multiprocessing" in command
        role = "loader" if child and _rank(parent, proc) == rank else "trainer"
    if rank is None and role in _TITLED:
        rank = next((found for each in _ancestors(pid, proc) if (found := _rank(each, proc)) is not None), None)
    return Identity(pid, name, role or "other", rank, parent)


def lone_trainer(root: int, proc: Path = Path("/proc")) -> int | None:
    """The process that trains where no launcher gave out ranks: the run's command, or its only child, in Python."""
    if _is_python(root, proc):
        return root
    try:
        children = [pid for pid in tree(root, proc) if pid != root and name_and_parent(pid, proc)[1] == root]
    except (OSError, ValueError):
        return None
    found = [pid for pid in children if _is_python(pid, proc)]
    return found[0] if len(found) == 1 else None


def _is_python(pid: int, proc: Path) -> bool:
    try:
        return (proc / str(pid) / "exe").readlink().name.startswith("python")
    except OSError:
        return False


def holds_a_gpu(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether a process has a GPU's device file open, as CUDA does."""
    with suppress(OSError):
        for each in (proc / str(pid) / "fd").iterdir():
            with suppress(OSError):  # it was closed meanwhile
                if _GPU_DEVICE.fullmatch(str(each.readlink())):
                    return True
    return False


def name_and_parent(pid: int, proc: Path = Path("/proc")) -> tuple[str, int]:
    """Name and parent of a process.

    Raises:
        OSError: it is gone.
        ValueError: /proc shows something else.

    """
    with open(f"{proc}/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - this is the path of a whole /proc
        text = file.read(1024).decode("utf-8", "replace")
    name, _, rest = text[text.index("(") + 1 :].rpartition(")")
    return name, int(rest.split()[1])


def command_line(pid: int, proc: Path = Path("/proc")) -> str:
    """The command line with blanks between its words; empty when it is gone or another's."""
    return _read(proc / str(pid) / "cmdline").replace("\0", " ").strip()


def _role(command: str) -> str | None:
    for role, pattern in (
        ("vllm_engine", _VLLM_ENGINE), ("vllm_worker", _VLLM_WORKER), ("vllm_server", _VLLM_SERVER),
        ("sglang_engine", _SGLANG_ENGINE), ("sglang_worker", _SGLANG_WORKER), ("sglang_server", _SGLANG_SERVER),
        ("ray_worker", _RAY_WORKER), ("ray", _RAY), ("launcher", _LAUNCHER),
    ):  # fmt: skip
        if pattern.search(command):
            return role
    return None


def _rank(pid: int, proc: Path) -> int | None:
    for word in _read(proc / str(pid) / "environ").split("\0"):
        name, _, value = word.partition("=")
        if name == "RANK" and value.isdecimal():
            return int(value)
    return None


def _ancestors(pid: int, proc: Path) -> list[int]:
    found: list[int] = []
    for _ in range(_MOST_ANCESTORS):
        try:
            pid = name_and_parent(pid, proc)[1]
        except (OSError, ValueError):
            break
        if pid <= 1:
            break
        found.append(pid)
    return found


def tree(root: int, proc: Path = Path("/proc"), parents: dict[int, int] | None = None) -> list[int]:
    """The process and all below it; empty when it is gone.

    Args:
        root: the process.
        proc: where /proc lies.
        parents: of the processes seen before, who are not asked again; brought up to date.

    """
    parents = {} if parents is None else parents
    seen = {int(entry.name) for entry in os.scandir(proc) if entry.name.isdigit()}
    for gone in parents.keys() - seen:
        del parents[gone]
    for pid in seen - parents.keys():
        with suppress(OSError, ValueError):
            parents[pid] = name_and_parent(pid, proc)[1]
    if root not in seen:
        return []
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found = [root]
    for pid in found:  # grows while it is walked
        found += children.get(pid, ())
    return found


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
