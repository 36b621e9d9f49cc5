"""CUDA toolkits on disk and the versions that they state."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from doctor.base.patterns import later
from doctor.facts.cuda import Library, Toolkit

_HEADER_BYTES = 64 << 10
_NVCC_TIMEOUT_S = 3.0
_RELEASE = later(r"release (\d+\.\d+)")
_CUDA_VERSION = later(r"^\s*#\s*define\s+(?:CUDART_VERSION|CUDA_VERSION)\s+(\d{4,6})\b", re.MULTILINE)
_SHARED = later(r"(lib[\w+-]+)\.so((?:\.\d+)*)\Z")

#: libraries that torch's CUDA wheels bring and that a foreign copy breaks
STEMS = frozenset({
    "libcublas", "libcublasLt", "libcudart", "libcudnn", "libcufft", "libcupti", "libcurand", "libcusolver",
    "libcusparse", "libcusparseLt", "libnccl", "libnvJitLink", "libnvrtc", "libnvshmem_host", "libcufile",
})  # fmt: skip


def cuda_home(environ: Mapping[str, str], root: Path = Path("/")) -> tuple[str | None, str | None]:
    """CUDA_HOME as torch would take it, and which of its guesses gave it.

    The order of `_find_cuda_home` in torch/utils/cpp_extension.py (the same in 2.4.1, 2.6.0, 2.13.0 and
    2.15.0): the variables are taken unseen, nvcc's grand-parent folder is taken whatever lies in it,
    /usr/local/cuda must exist.
    """
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(name):
            return environ[name], name
    nvcc = which("nvcc", environ)
    if nvcc is not None:
        return str(Path(nvcc).parent.parent), "nvcc on PATH"
    if (root / "usr/local/cuda").exists():
        return "/usr/local/cuda", "/usr/local/cuda"
    return None, None


def which(program: str, environ: Mapping[str, str]) -> str | None:
    """A program on the PATH of `environ`."""
    if os.path.dirname(program):  # noqa: PTH120 - a string question
        return program if os.access(program, os.X_OK) else None
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", program)  # noqa: PTH118 - Path would cost more than the question
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return None


def nvcc_version(nvcc: Path) -> str | None:
    """Return nvcc's own release, "12.4": from version.json of its toolkit, else by asking nvcc.

    A header beside it proves nothing here: conda installs nvcc and the runtime of different releases side by
    side.
    """
    stated = _stated_version(nvcc.resolve().parent.parent, "cuda_nvcc")
    if stated:
        return stated
    from doctor.base.asking import answer

    told = answer([str(nvcc), "--version"], seconds=_NVCC_TIMEOUT_S)
    match = None if told is None else _RELEASE.search(told.decode("utf-8", "replace"))
    return match.group(1) if match else None


def toolkits(environ: Mapping[str, str], home: str | None, known: Mapping[str, str | None]) -> tuple[Toolkit, ...]:
    """All toolkits in the usual places, newest first; `known` gives versions that are already established."""
    seen: dict[str, Toolkit] = {}
    for folder in _candidates(environ, home):
        real = os.path.realpath(folder)
        if real in seen or not _is_toolkit(folder):
            continue
        has_nvcc = (folder / "bin" / "nvcc").is_file()
        version = known.get(str(folder)) or known.get(real) or _folder_version(folder)
        seen[real] = Toolkit(str(folder), version, has_nvcc)
    return tuple(sorted(seen.values(), key=lambda each: _numbers(each.version), reverse=True))


def _candidates(environ: Mapping[str, str], home: str | None) -> Iterable[Path]:
    if home:
        yield Path(home)
    for base, pattern in (("/usr/local", "cuda-[0-9]*"), ("/opt/cuda", "cuda-[0-9]*"), ("/opt", "cuda-[0-9]*")):
        yield from sorted(Path(base).glob(pattern))
    yield from (Path("/usr/local/cuda"), Path("/opt/cuda"), Path("/usr/lib/cuda"))
    if environ.get("CONDA_PREFIX"):
        yield Path(environ["CONDA_PREFIX"])


def _is_toolkit(folder: Path) -> bool:
    """Tell a toolkit from a folder that merely has an `nvcc` wrapper in its bin, as /usr/local may."""
    return any(
        (folder / sign).exists()
        for sign in ("version.json", "version.txt", "include/cuda.h", "nvvm", "include/cuda_runtime.h")
    )


def _folder_version(folder: Path) -> str | None:
    """Version of a toolkit that lies in one folder of its own."""
    stated = _stated_version(folder, "cuda_nvcc", "cuda_cudart", "cuda")
    if stated:
        return stated
    for header in ("include/cuda_runtime_api.h", "include/cuda.h"):
        match = _CUDA_VERSION.search(_head(folder / header))
        if match:
            number = int(match.group(1))
            return f"{number // 1000}.{number % 1000 // 10}"
    return None


def _stated_version(folder: Path, *components: str) -> str | None:
    """Major and minor of the first of `components` in version.json (CUDA 11 and newer) or version.txt (older)."""
    text = _head(folder / "version.json")
    try:
        parts = json.loads(text) if text else {}
    except ValueError:
        parts = {}
    for component in components:
        entry = parts.get(component) if isinstance(parts, dict) else None
        version = entry.get("version") if isinstance(entry, dict) else None
        match = re.match(r"\d+\.\d+", version) if isinstance(version, str) else None
        if match:
            return match.group(0)
    match = re.match(r"CUDA Version (\d+\.\d+)", _head(folder / "version.txt"))
    return match.group(1) if match else None


def _head(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_HEADER_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def libraries(search_path: str, ours: Mapping[str, str]) -> tuple[Library, ...]:
    """CUDA libraries that the folders of LD_LIBRARY_PATH offer, the first copy of each name.

    Args:
        search_path: value of LD_LIBRARY_PATH.
        ours: the wheel's libraries, stem -> path; when it is not empty only those stems count, and the
            wheel's own files (their folder may be in the variable) do not.

    """
    own = {os.path.realpath(path) for path in ours.values()}
    found: dict[str, Library] = {}
    settled: set[str] = set()  # names that an earlier folder answers, be it with the wheel's own file
    for folder in dict.fromkeys(part for part in search_path.replace(";", ":").split(":") if part):
        for name in _names(folder):
            match = _SHARED.match(name)
            if match is None or match.group(1) not in (ours or STEMS) or not match.group(2) or name in settled:
                continue
            path = os.path.join(folder, name)  # noqa: PTH118
            real = os.path.realpath(path)
            if match.group(2).count(".") > 1 or not os.path.isfile(real):  # noqa: PTH113
                continue  # programs ask for the name with the major version only
            settled.add(name)
            if real in own:
                continue
            found[name] = Library(match.group(1), path, version_in(real) or match.group(2)[1:], folder)
    return tuple(found.values())


def driver_library(search_path: str) -> Library | None:
    """The libcuda.so.1 that LD_LIBRARY_PATH offers first; the version of a driver stands in its file's name."""
    for folder in dict.fromkeys(part for part in search_path.replace(";", ":").split(":") if part):
        path = os.path.join(folder, "libcuda.so.1")  # noqa: PTH118
        real = os.path.realpath(path)
        if os.path.isfile(real):  # noqa: PTH113
            version = version_in(real)
            return Library("libcuda", path, version if version and "." in version else None, folder)
    return None


def _names(folder: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []


def version_in(path: str) -> str | None:
    """Return the version in a library's file name, "12.4.5.8" of libcublas.so.12.4.5.8; None without one."""
    match = _SHARED.match(os.path.basename(path))  # noqa: PTH119
    return match.group(2)[1:] or None if match else None


def _numbers(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version or ""))
