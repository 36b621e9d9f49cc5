"""Collects the fact `cuda`."""

from __future__ import annotations

import time
from pathlib import Path

from doctor.base.fact import fact
from doctor.facts.cuda import Cuda
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages

_FOLDERS_S = 1.5  # a dead mount in LD_LIBRARY_PATH costs this and no more


@fact(timeout_s=6.0)  # nvcc has 3 s where it must be asked
def collect(environment: Environment, packages: Packages | None) -> Cuda:
    """Toolkits and shadowing libraries as the launched command's variables make them."""
    from doctor.base.deadline import Pending
    from doctor.readers.machine import toolkits

    variables = environment.variables
    ours = packages.wheel_libraries if packages else {}
    shadowing = Pending(lambda: toolkits.libraries(variables.get("LD_LIBRARY_PATH", ""), ours))
    library = Pending(lambda: toolkits.driver_library(variables.get("LD_LIBRARY_PATH", "")))
    home, home_from = toolkits.cuda_home(variables)
    nvcc = Path(home) / "bin" / "nvcc" if home else None
    if nvcc is not None and not nvcc.is_file():
        nvcc = None
    version = toolkits.nvcc_version(nvcc) if nvcc else None
    known = {home: version} if home else {}
    compiler = (variables.get("CXX") or "c++").split()[0]
    until = time.monotonic() + _FOLDERS_S
    return Cuda(
        cuda_home=home,
        cuda_home_from=home_from,
        nvcc=str(nvcc) if nvcc else None,
        nvcc_version=version,
        toolkits=toolkits.toolkits(variables, home, known),
        shadowing=shadowing.result(until)[1] or (),
        driver_library=library.result(until)[1],
        has_cxx_compiler=toolkits.which(compiler, variables) is not None,
        has_ninja=toolkits.which("ninja", variables) is not None,
    )
