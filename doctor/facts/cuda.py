"""CUDA toolkits, and the CUDA libraries that a process would really load."""

from __future__ import annotations

from doctor.base.record import record


@record
class Toolkit:
    """A folder with a CUDA toolkit; `version` of its nvcc ("12.4") or version.json; `has_nvcc`."""

    path: str
    version: str | None = None
    has_nvcc: bool = False


@record
class Library:
    """A CUDA library that LD_LIBRARY_PATH puts before the wheel's own.

    `stem`: "libcublasLt"; `version` from its file name, "12.1.3.1", or "12" where it says no more.
    """

    stem: str
    path: str
    version: str | None
    folder: str


@record
class Cuda:
    """Args:
    cuda_home: what torch.utils.cpp_extension would take (CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda);
        `cuda_home_from` which of these.
    nvcc_version: "12.4" of that toolkit's nvcc, None without nvcc.
    toolkits: all that were found, newest first.
    shadowing: libraries in LD_LIBRARY_PATH that torch's wheel also brings.
    driver_library: libcuda.so.1 that LD_LIBRARY_PATH puts before the driver's own.

    """

    cuda_home: str | None = None
    cuda_home_from: str | None = None
    nvcc: str | None = None
    nvcc_version: str | None = None
    toolkits: tuple[Toolkit, ...] = ()
    shadowing: tuple[Library, ...] = ()
    has_cxx_compiler: bool | None = None
    has_ninja: bool | None = None
    driver_library: Library | None = None
