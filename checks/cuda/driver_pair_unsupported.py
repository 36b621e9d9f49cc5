"""Judges driver-pair-unsupported (CUD012), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.words import words_of
from doctor.facts.cuda import Cuda
from doctor.facts.gpus import Gpus
from doctor.facts.nvidia import Nvidia

TOML = words_of(__name__)
PROBLEM = TOML.problem
NOT_FOR_CARD = TOML["not_for_card"]
OLDER = TOML["older"]

#: forward compatibility is for data-centre cards and a few professional ones
#: (https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html)
CONSUMER = later(r"GeForce|TITAN", re.IGNORECASE)


@check(PROBLEM)
def foreign_driver_library(cuda: Cuda, nvidia: Nvidia, gpus: Gpus) -> Judgement:
    """A libcuda of another version than the kernel's module, which LD_LIBRARY_PATH puts first."""
    library, module = cuda.driver_library, nvidia.kernel_module_version
    if library is None or library.version is None or module is None or library.version == module:
        return
    consumer = next((gpu for gpu in gpus.gpus if gpu.name and CONSUMER.search(gpu.name)), None)
    newer = _branch(library.version) > _branch(module)
    if newer and consumer is None:
        return
    yield found(
        PROBLEM, NOT_FOR_CARD if newer else OLDER, confidence=LIKELY, library=library.path, version=library.version,
        module=module, card=consumer.name if consumer is not None else "",
        commands=(f"ls -l {library.folder}/libcuda.so*", "unset LD_LIBRARY_PATH"),
        evidence=(
            Observed.quoted("environment", f"LD_LIBRARY_PATH: {library.folder}"),
            Observed.quoted("/proc/driver/nvidia/version", module),
        ),
    )  # fmt: skip


def _branch(version: str) -> tuple[int, ...]:
    """Parts as numbers: 550.54.15."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
