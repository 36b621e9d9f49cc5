"""The deep probes, run one per process: `python -c TEXT FILE SECONDS PROBE ARGUMENT...`.

Each writes what it finds as JSON lines to FILE, a line as soon as something is known, so that a crash loses only what
it interrupted. Probes: `import MODULE`, `devices STEMS`, `matmul DEVICE STEMS`, `collective RANK BACKEND FOLDER`.
"""

import importlib
import json
import os
import signal
import sys
import time
from typing import Any, Dict, List, Optional


def prepare(seconds: float) -> None:
    """No core files, a last resort against hanging should the doctor be gone, and no working folder on the path."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(int(seconds) + 5)
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]


def say(**facts: Any) -> None:
    """Write one line at once."""
    with open(sys.argv[1], "a") as out:
        out.write(json.dumps(facts) + "\n")


def failure(error: BaseException) -> Dict[str, Any]:
    """An exception told by its cause: what lazy importers wrap is not what happened."""
    root, seen = error, set()
    while id(root) not in seen:
        seen.add(id(root))
        root = cause(root) or root
    return {
        "error_type": type(root).__name__,
        "error": str(root)[-2000:],
        "outer": str(error)[-500:],
        "raised_in": importing(root),
        "not_found": isinstance(root, ModuleNotFoundError),
    }


def cause(error: BaseException) -> Optional[BaseException]:
    """The exception that an exception wraps, None when it is what happened.

    One that was merely being handled (__context__) counts when it is a failed import and the outer one is not: a
    fallback that fails, too, is itself what happened, and a KeyError below an import is how modules are looked up.
    """
    if error.__cause__ is not None:
        return error.__cause__
    below = error.__context__
    if error.__suppress_context__ or isinstance(error, ImportError) or not isinstance(below, (ImportError, OSError)):
        return None
    return below


def importing(error: BaseException) -> Optional[str]:
    """The module that could not be imported: the one an ImportError names, else the innermost that was running.

    "cannot import name" names the module that lacks the name, "No module named" the missing one.
    """
    named = getattr(error, "name", None) if isinstance(error, ImportError) else None
    if named:
        return str(named)
    innermost, trace = None, error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__")
        if trace.tb_frame.f_code.co_name == "<module>" and name not in (None, "__main__"):
            innermost = name
        trace = trace.tb_next
    return innermost


def probe_import(name: str) -> None:
    """Import a package as far as training needs it: some put off everything until it is asked for."""
    try:
        module = importlib.import_module(name)
        if name == "trl":
            getattr(module, "GRPOTrainer")  # noqa: B009 - its lazy importer is what is tried
        elif name == "vllm":
            load_vllm_kernels(module)
        elif name == "bitsandbytes":
            load_bitsandbytes()
    except BaseException as error:
        say(outcome="error", **failure(error))
    else:
        say(outcome="ok")


def load_vllm_kernels(module: Any) -> None:
    """vLLM logs that its kernels cannot be loaded, and goes on: load them, where there is a GPU for them."""
    import torch

    if not torch.cuda.is_available():
        return
    for entry in sorted(os.listdir(os.path.dirname(module.__file__))):
        stem = entry.split(".")[0]
        if entry.endswith(".so") and stem in ("_C", "_moe_C", "_C_stable_libtorch"):
            importlib.import_module("vllm." + stem)


def load_bitsandbytes() -> None:
    """bitsandbytes takes a stand-in (None before 0.46) for a library that it cannot load, and goes on."""
    import torch
    from bitsandbytes import cextension

    if not torch.cuda.is_available():
        return
    library = getattr(cextension, "lib", "absent")
    if library is None or "ErrorHandlerMock" in type(library).__name__:
        raise OSError(getattr(library, "error_msg", "bitsandbytes could not load its native library"))


def probe_devices(stems: str) -> None:
    """What torch says of itself and of its GPUs, the harmless things first."""
    import torch

    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    text = flags() if flags is not None else None
    say(arch_list=text.split() if text else [])
    say_mapped(stems)
    available = torch.cuda.is_available()
    say(cuda_available=available)
    for index in range(torch.cuda.device_count() if available else 0):
        uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None)
        say(device=index, uuid=str(uuid) if uuid is not None else None)


def probe_matmul(device_index: str, stems: str) -> None:
    """A product on one GPU in fp16 and bf16.

    The shape is one that cuBLAS 12.1 dies on with an H20 (https://github.com/pytorch/pytorch/issues/152017).
    """
    import torch

    device = torch.device("cuda", int(device_index))
    for name in ("float16", "bfloat16"):
        say(started=name)
        try:
            dtype = getattr(torch, name)
            left = torch.full((64, 14688), 0.01, device=device, dtype=dtype)
            right = torch.full((14688, 1536), 0.01, device=device, dtype=dtype)
            product = torch.addmm(torch.zeros(1536, device=device, dtype=dtype), left, right)
            torch.cuda.synchronize(device)
            finite = bool(torch.isfinite(product).all().item())
        except Exception as error:
            say(dtype=name, outcome="error", **failure(error))
        else:
            say(dtype=name, outcome="ok", finite=finite)
    say_mapped(stems)
    try:
        if torch.cuda.mem_get_info(device)[0] > ROOM_BYTES:  # never the memory that a training needs
            name = "bfloat16" if torch.cuda.get_device_capability(device)[0] >= 8 else "float16"
            say(speed=measured(torch, device, getattr(torch, name), 8192, 1 << 30))
    except Exception as error:
        say(unmeasured=failure(error))


#: free memory below which no speed is measured
ROOM_BYTES = 8 << 30


def measured(torch: Any, device: Any, dtype: Any, size: int, copied: int, seconds: float = 1.0) -> Dict[str, Any]:
    """How fast a device multiplies (TFLOPS of dense products) and copies (10**9 bytes read and written a second).

    The median of portions, for others may use the card meanwhile; the clock rises in the first third.

    The matrices are `size` x `size`, the block that is copied has `copied` bytes; each takes about `seconds`.

    """
    left = torch.full((size, size), 0.01, device=device, dtype=dtype)
    right, out = left.clone(), torch.empty_like(left)
    product = timed(torch, device, lambda: torch.mm(left, right, out=out), seconds)
    source = torch.zeros(copied, device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    copy = timed(torch, device, lambda: target.copy_(source), seconds)
    name = str(dtype).replace("torch.", "")
    return {"dtype": name, "tflops": 2e-12 * size**3 / product, "gb_s": 2e-9 * copied / copy}


def timed(torch: Any, device: Any, work: Any, seconds: float) -> float:
    """Seconds that one piece of work takes."""

    def portion(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - started

    portion(2)
    count = max(1, int(seconds / 12 / max(portion(2) / 2, 1e-6)))
    until = time.perf_counter() + seconds / 3
    while time.perf_counter() < until:
        portion(count)
    return sorted(portion(count) for _ in range(7))[3] / count


def say_mapped(stems: str) -> None:
    """CUDA libraries that are mapped into this process, each with the version that it tells of itself."""
    wanted, found = set(stems.split(",")), {}
    with open("/proc/self/maps", errors="replace") as maps:
        for line in maps:
            parts = line.rstrip("\n").split(None, 5)
            path = parts[5] if len(parts) > 5 else ""
            stem = os.path.basename(path).split(".so")[0]
            if ".so" in path and stem in wanted:
                found[stem] = path
    for stem, path in sorted(found.items()):
        try:
            version = told_version(stem, path)
        except Exception:
            version = None
        say(mapped=stem, path=path, version=version)


def told_version(stem: str, path: str) -> Optional[str]:
    """Ask a mapped library for its version; each library packs it into a number in its own way."""
    import ctypes

    library = ctypes.CDLL(path)
    number = ctypes.c_int(0)
    if stem == "libcublasLt":  # 120405: 12.4.5
        library.cublasLtGetVersion.restype = ctypes.c_size_t
        return unpacked(library.cublasLtGetVersion(), 10000, 100)
    if stem == "libnccl":  # 22105: 2.21.5, before 2.9 2708: 2.7.8
        library.ncclGetVersion(ctypes.byref(number))
        return unpacked(number.value, 10000 if number.value >= 10000 else 1000, 100)
    if stem == "libcudart":  # 12040: 12.4
        library.cudaRuntimeGetVersion(ctypes.byref(number))
        return "%d.%d" % (number.value // 1000, number.value % 1000 // 10)
    if stem == "libcudnn":  # 90100: 9.1.0, before 9 8902: 8.9.2
        library.cudnnGetVersion.restype = ctypes.c_size_t
        value = library.cudnnGetVersion()
        return unpacked(value, 10000 if value >= 90000 else 1000, 100)
    return None


def unpacked(number: int, major: int, minor: int) -> str:
    """Take a version out of a number."""
    return "%d.%d.%d" % (number // major, number % major // minor, number % minor)


def probe_collective(rank_text: str, backend: str, folder: str) -> None:
    """One of two processes of an all-reduce of 1 and 2."""
    try:
        from datetime import timedelta

        import torch
        import torch.distributed as dist

        rank, limit = int(rank_text), timedelta(seconds=max(5.0, float(sys.argv[2]) - 5))
        device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
        if backend == "nccl":
            torch.cuda.set_device(device)
        store = open_store(dist, rank, folder, limit)
        dist.init_process_group(backend, store=store, rank=rank, world_size=2, timeout=limit)
        value = torch.ones(1024, device=device) * (rank + 1)
        dist.all_reduce(value)
        mean = float(value.mean().item())
        dist.barrier()
        if mean == 3.0:
            say(outcome="ok")
        else:
            say(outcome="error", error="the sum of 1 and 2 over two processes came out as %r" % mean)
    except BaseException as error:
        say(outcome="error", **failure(error))
    os._exit(0)  # whether the backend shuts down cleanly is not the question


def open_store(dist: Any, rank: int, folder: str, limit: Any) -> Any:
    """The store of both on the loopback interface: rank 0 takes a free port and leaves its number in the folder."""
    path = os.path.join(folder, "port")
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, 2, True, limit, wait_for_workers=False)
        with open(path + ".new", "w") as out:
            out.write(str(store.port))
        os.rename(path + ".new", path)
        return store
    end = time.time() + limit.total_seconds()
    while not os.path.exists(path):
        if time.time() > end:
            raise RuntimeError("rank 0 opened no store")
        time.sleep(0.02)
    with open(path) as source:
        return dist.TCPStore("127.0.0.1", int(source.read()), 2, False, limit)


def main(words: List[str]) -> None:
    """Run the probe that the command line names."""
    probes: Dict[str, Any] = {
        "import": probe_import,
        "devices": probe_devices,
        "matmul": probe_matmul,
        "collective": probe_collective,
    }
    prepare(float(words[1]))
    probes[words[2]](*words[3:])


if __name__ == "__main__":
    main(sys.argv[1:])
