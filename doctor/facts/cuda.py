"""CUDA toolkits, and the CUDA libraries that a process would really load."""

from __future__ import annotations

import time
from pathlib import Path

from doctor.core.record import record
from doctor.facts.base import fact
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages

_FOLDERS_S = 1.5  # a dead mount in LD_LIBRARY_PATH costs this and no more


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

    """

    cuda_home: str | None = None
    cuda_home_from: str | None = None
    nvcc: str | None = None
    nvcc_version: str | None = None
    toolkits: tuple[Toolkit, ...] = ()
    shadowing: tuple[Library, ...] = ()
    has_cxx_compiler: bool | None = None
    has_ninja: bool | None = None


@fact(timeout_s=6.0)  # nvcc has 3 s where it must be asked
def collect(environment: Environment, packages: Packages | None) -> Cuda:
    """Toolkits and shadowing libraries as the launched command's variables make them."""
    from doctor.facts import _toolkits
    from doctor.facts._deadline import Pending

    variables = environment.variables
    ours = packages.wheel_libraries if packages else {}
    shadowing = Pending(lambda: _toolkits.libraries(variables.get("LD_LIBRARY_PATH", ""), ours))
    home, home_from = _toolkits.cuda_home(variables)
    nvcc = Path(home) / "bin" / "nvcc" if home else None
    if nvcc is not None and not nvcc.is_file():
        nvcc = None
    version = _toolkits.nvcc_version(nvcc) if nvcc else None
    known = {home: version} if home else {}
    compiler = (variables.get("CXX") or "c++").split()[0]
    return Cuda(
        cuda_home=home,
        cuda_home_from=home_from,
        nvcc=str(nvcc) if nvcc else None,
        nvcc_version=version,
        toolkits=_toolkits.toolkits(variables, home, known),
        shadowing=shadowing.result(time.monotonic() + _FOLDERS_S)[1] or (),
        has_cxx_compiler=_toolkits.which(compiler, variables) is not None,
        has_ninja=_toolkits.which("ninja", variables) is not None,
    )
