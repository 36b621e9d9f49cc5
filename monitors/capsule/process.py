"""The process around a failure: who it is, what it did, what memory it held; read from what is there already."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, Callable, Optional

from doctor.base.numerals import whole_of
from doctor.base.redact import redact_argv, redact_text, redact_variable
from doctor.monitors.capsule import looks
from doctor.monitors.capsule.values import Fact, imported
from doctor.run.folder import host_name

_PACKAGES = (
    "torch", "transformers", "trl", "accelerate", "deepspeed", "peft", "vllm", "datasets", "ray", "verl", "trinity",
    "flash_attn", "bitsandbytes", "numpy", "triton", "sglang", "openrlhf", "tokenizers", "safetensors", "wandb",
)  # fmt: skip
_VARIABLES = (
    "CUDA", "NCCL", "TORCH", "PYTORCH", "HF_", "HUGGINGFACE", "TRANSFORMERS", "ACCELERATE", "DEEPSPEED", "DS_", "VLLM",
    "RAY", "GLOO", "FSDP", "OMP_", "TOKENIZERS", "RANK", "LOCAL_", "WORLD_SIZE", "GROUP_", "MASTER_", "NODE_RANK",
    "SLURM_JOB", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_NNODES", "XDG_CACHE", "TRITON", "NVIDIA", "VERL", "TRL",
    "WANDB_MODE",
)  # fmt: skip
_MOST_VARIABLES, _MOST_THREADS, _MOST_FRAMES = 100, 32, 30
#: words of the command that are shown, and what is read of them so that one is known by those before it
_SHOWN_ARGUMENTS, _MOST_ARGUMENTS, _SHOWN_ARGUMENT, _LONGEST_ARGUMENT = 40, 200, 300, 4_000
_NVML_S = 0.5

#: functions of the trainers that tell the phase; the innermost that is known counts
_PHASES = {
    "_calculate_rewards": "reward", "_move_model_to_vllm": "weight_sync", "sync_weights": "weight_sync",
    "_save_checkpoint": "checkpoint", "save_model": "checkpoint", "_load_from_checkpoint": "checkpoint",
    "evaluate": "eval", "evaluation_loop": "eval", "_generate_and_score_completions": "generation",
    "_generate": "generation", "generate": "generation", "compute_loss": "update", "training_step": "update",
    "backward": "update",
}  # fmt: skip


def rank() -> Optional[int]:
    """The rank that the launcher gave this process."""
    return _integer("RANK")


def _integer(name: str) -> Optional[int]:
    return whole_of(os.environ.get(name, ""))


def role() -> str:
    """What part of a run this is, as its environment and its name tell; fit for a file name."""
    if "RAY_WORKER_ID" in os.environ or any(each.endswith("default_worker.py") for each in sys.argv[:1]):
        return "ray"
    current: Any = sys.modules.get("multiprocessing.process")
    me = current.current_process() if current is not None else None
    if me is not None and looks.own(me).get("_parent_pid") is not None and _is_child(current):
        name = str(looks.own(me).get("_name", "worker")).split("-")[0]
        return "".join(each for each in name if each.isalnum() or each in "_.")[:24] or "worker"
    return "trainer" if rank() is not None or "transformers.trainer" in sys.modules else "process"


def _is_child(module: Any) -> bool:
    return getattr(module, "_parent_process", None) is not None


def describe(*, touch_device: bool, phase: Optional[str]) -> Fact:
    """Facts of this process; what fails leaves a note in its place.

    Args:
        touch_device: whether the allocator and the recorder may be asked: never after an error of CUDA.
        phase: what was being done, as the frames tell.

    """
    told: Fact = {
        "host": host_name(), "pid": os.getpid(), "ppid": os.getppid(), "role": role(), "rank": rank(),
        "local_rank": _integer("LOCAL_RANK"), "world_size": _integer("WORLD_SIZE"), "phase": phase,
    }  # fmt: skip
    parts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("argv", _argv),
        ("python", lambda: ".".join(map(str, sys.version_info[:3]))), ("progress", _progress),
        ("versions", lambda: dict(_versions())), ("environment", lambda: dict(_environment())),
        ("memory", _host_memory), ("device", _device_memory if touch_device else _untouched),
        ("cards", _cards), ("collectives", _collectives if touch_device else _untouched), ("threads", _threads),
    )  # fmt: skip
    for name, tell in parts:
        try:
            told[name] = tell()
        except Exception as trouble:  # noqa: BLE001 - one part costs itself, not the others
            told[name] = {"trouble": looks.class_name(type(trouble))}
    return told


def _argv() -> list[str]:
    """The first words of the command; what the words before one make a secret is none of them."""
    words = [str(each)[:_LONGEST_ARGUMENT] for each in sys.argv[:_MOST_ARGUMENTS]]
    return [each[:_SHOWN_ARGUMENT] for each in redact_argv(words)[:_SHOWN_ARGUMENTS]]


def phase_of(functions: list[str]) -> Optional[str]:
    """The phase that functions, innermost first, belong to; None where none tells."""
    return next((_PHASES[each] for each in functions if each in _PHASES), None)


def _untouched() -> Fact:
    return {"left_alone": "after an error of the device"}


def _progress() -> Fact:
    """Step and last metrics, as the guard of this process noted them."""
    watched: Any = getattr(sys.modules.get("doctor.monitors.guard.exceptions"), "_Watched", None)
    guard = getattr(watched, "guard", None)
    if guard is None:
        return {}
    recent = [
        {"step": step, **{name: value if math.isfinite(value) else str(value)
                          for name, value in list(row.items())[:40]}}
        for step, row in list(guard.recent)[-3:]
    ]  # fmt: skip
    return {"step": guard.step, "recent": recent}


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        module = imported(name)
        version = None if module is None else looks.own(module).get("__version__")
        if isinstance(version, str):
            yield name, str(version)[:60]


def _environment() -> Iterator[tuple[str, str]]:
    names = sorted(each for each in os.environ if each.startswith(_VARIABLES))
    for name in names[:_MOST_VARIABLES]:
        yield name, redact_variable(name, os.environ[name][:300])


def _host_memory() -> Fact:
    """Bytes of this process and of the machine."""
    told: Fact = {}
    wanted = (("/proc/self/status", ("VmRSS", "VmHWM", "VmSwap", "Threads")),
              ("/proc/meminfo", ("MemTotal", "MemAvailable", "SwapFree")))  # fmt: skip
    for path, names in wanted:
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    name, _, rest = line.partition(":")
                    if name in names:
                        words = rest.split()
                        told[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return told


def _device_memory() -> Fact:
    """Bytes by torch's own allocator, which keeps these counts on the host."""
    cuda = imported("torch.cuda")
    core: Any = sys.modules.get("torch._C")
    if cuda is None or not looks.own(cuda).get("_initialized") or not hasattr(core, "_cuda_memoryStats"):
        return {}
    told: Fact = {}
    for device in range(int(core._cuda_getDeviceCount())):
        try:
            stats = core._cuda_memoryStats(device)
        except RuntimeError:
            continue
        names = ("allocated_bytes", "reserved_bytes", "inactive_split_bytes")
        kept = {each: stats[each]["all"]["current"] for each in names if each in stats}
        if kept.get("reserved_bytes"):
            peak = {f"{each}_peak": stats[each]["all"]["peak"] for each in names[:2] if each in stats}
            told[str(device)] = {
                **kept,
                **peak,
                "ooms": stats.get("num_ooms"),
                "retries": stats.get("num_alloc_retries"),
            }
    return told


class _Memory(ctypes.Structure):
    """nvmlMemory_t, https://docs.nvidia.com/deploy/nvml-api/structnvmlMemory__t.html."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t, https://docs.nvidia.com/deploy/nvml-api/structnvmlProcessInfo__t.html."""

    _fields_ = [
        ("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gpu", ctypes.c_uint), ("compute", ctypes.c_uint),
    ]  # fmt: skip


def _cards() -> list[Fact]:
    """Memory and processes of every card by the driver, asked aside: a card that is lost keeps its caller waiting."""
    if imported("torch") is None and imported("vllm") is None:
        return []
    if not os.path.exists("/proc/driver/nvidia") and not os.path.exists("/dev/nvidiactl"):
        return []
    told: list[Fact] = []
    asking = threading.Thread(target=_ask_cards, args=(told,), daemon=True, name="doctor-capsule-nvml")
    asking.start()
    asking.join(_NVML_S)
    return list(told)


def _ask_cards(told: list[Fact]) -> None:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2() != 0:
            return
        count = ctypes.c_uint()
        nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        for index in range(min(count.value, 16)):
            handle = ctypes.c_void_p()
            if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
                told.append({"index": index, **_card(nvml, handle)})
    except (OSError, AttributeError):
        return


def _card(nvml: Any, handle: ctypes.c_void_p) -> Fact:
    memory, count = _Memory(), ctypes.c_uint(64)
    held = (_Process * 64)()
    nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
    done = nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), held)
    processes = [
        {"pid": each.pid, "used": each.used if each.used < 1 << 60 else None, "name": _name_of(each.pid)}
        for each in held[: count.value if done == 0 else 0]
    ]
    return {"total": memory.total, "used": memory.used, "processes": processes}


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()[:60]
    except OSError:
        return ""


def _collectives() -> Any:
    """Collectives that are under way, as the flight recorder of this process holds them."""
    core: Any = sys.modules.get("torch._C._distributed_c10d")
    distributed: Any = imported("torch.distributed")
    if core is None or distributed is None or not distributed.is_initialized():
        return {}
    dump = getattr(core, "_dump_nccl_trace_json", None)
    if dump is None or "nccl" not in str(distributed.get_backend()):
        return {"backend": str(distributed.get_backend())}
    import json

    data = json.loads(dump(True, True))
    kept = (
        "profiling_name",
        "collective_seq_id",
        "p2p_seq_id",
        "state",
        "input_sizes",
        "output_sizes",
        "process_group",
    )
    return {"backend": "nccl", "open": [
        {key: each.get(key) for key in kept} for each in data.get("entries", [])[-8:]
    ]}  # fmt: skip


def _threads() -> list[Fact]:
    """Where every thread stands, this one left out."""
    known = {each.ident: (each.name, each.native_id) for each in threading.enumerate()}
    me = threading.get_ident()
    told = []
    for ident, frame in list(sys._current_frames().items())[:_MOST_THREADS]:
        name, tid = known.get(ident, ("", None))
        if ident != me and not name.startswith("doctor-"):
            told.append({"name": name[:60], "tid": tid, "frames": list(_stack(frame))})
    return told


def _stack(frame: Optional[types.FrameType]) -> Iterator[str]:
    count = 0
    while frame is not None and count < _MOST_FRAMES:
        yield redact_text(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
        count += 1
