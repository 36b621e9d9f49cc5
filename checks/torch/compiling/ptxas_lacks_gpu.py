"""Judges ptxas-lacks-gpu (TOR019), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_NVCC = TOML["log_nvcc"]
LOG_MESSAGE_DROPPED = TOML["log_dropped"]
LOG_MESSAGE_LANGUAGE = TOML["log_language"]


#: version of PTX -> release of CUDA that brought it
#: https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes
_BROUGHT_BY = {
    "7.0": "11.0", "7.1": "11.1", "7.2": "11.2", "7.3": "11.3", "7.4": "11.4", "7.5": "11.5", "7.6": "11.6",
    "7.7": "11.7", "7.8": "11.8", "8.0": "12.0", "8.1": "12.1", "8.2": "12.2", "8.3": "12.3", "8.4": "12.4",
    "8.5": "12.5", "8.6": "12.7", "8.7": "12.8", "8.8": "12.9", "9.0": "13.0", "9.1": "13.1",
}  # fmt: skip
_DROPPED_UP_TO = 72  # compute capability in tenths: Volta, which CUDA 13 dropped
_NVCC = 1  # position of nvcc's words


def explain(hits: Hits) -> Finding:
    """A language too new, Triton's assembler, or nvcc; a card too new, or an architecture that was dropped."""
    if isa := hits.first.groups.get("isa"):
        cuda = _BROUGHT_BY.get(isa)
        return found(
            PROBLEM, LOG_MESSAGE_LANGUAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, isa=isa,
            feature=hits.first.groups["feature"], cuda=cuda,
            )  # fmt: skip
    arch = hits.first.groups["arch"]
    number = int((re.findall(r"\d+", arch) or ["999"])[0])
    if hits.first.signature != _NVCC:
        return found(
            PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, arch=arch,
            commands=("export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas",),
    )  # fmt: skip
    dropped = number <= _DROPPED_UP_TO
    return found(
        PROBLEM, LOG_MESSAGE_DROPPED if dropped else LOG_MESSAGE_NVCC, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if dropped else CONFIRMED, arch=arch,
    )  # fmt: skip
