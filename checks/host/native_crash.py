"""Judges native-crash (HST029), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
INSTRUCTION = TOML["instruction"]
NCCL = TOML["nccl"]
CAPTURE = TOML["capture"]
COMPILER = TOML["compiler"]
MPI = TOML["mpi"]
SAVING, FORKED = TOML["saving"], TOML["forked"]
IMPORT = TOML["import"]
CONVOLUTION = TOML["convolution"]
WEIGHTS = TOML["weights"]
PLAIN = TOML["plain"]
VGPU = TOML["vgpu"]
COPY = TOML["copy"]


#: (what the innermost frames name, what is said then), the first that fits
_BY_FRAME = (
    (re.compile(r"libvgpu|HAMi"), VGPU),
    (re.compile(r":(?:cu(?:da)?Memcpy\w*|at::native::copy_device_to_device)"), COPY),
    (re.compile(r"libmpi\b|:(?:ompi_|P?MPI_)\w"), MPI),
    (re.compile(r":mz_zip_writer|PyTorchStreamWriter"), SAVING),
    (re.compile(r"triton/(?:compiler|backends|runtime/jit)"), COMPILER),
    (re.compile(r"pynccl|distributed_c10d|custom_all_reduce|:all_reduce$|:p?ncclA?|libnccl|symm_mem|deep_ep"), NCCL),
    (re.compile(r"<frozen importlib|importlib/|/ctypes/__init__\.py:(?:__init__|LoadLibrary|_load_library)$"), IMPORT),
    (re.compile(r"modules/conv\.py|cudnn"), CONVOLUTION),
    (re.compile(r"safetensors|weight_loader|load_weights|load_state_dict|weight_utils"), WEIGHTS),
)
_CAPTURES = later(r"capture_one_batch|cuda_graph_runner|capture_model|cuda/graphs\.py")
#: a thread that only waits: the one that crashed has no Python frames
_WAITS = later(r"/(?:threading|selectors|queue|socket)\.py|watchdog")
_INNER = 3


def _native(hits: Hits) -> tuple[str, ...]:
    """Functions below Python that the handler printed, outermost first as in Python's own traces."""
    told = [hit.groups for hit in hits if hit.groups.get("function")][:_INNER]
    return tuple(f"/{each.get('library') or ''}:{each['function']}" for each in reversed(told))


def explain(hits: Hits) -> Finding:
    """The innermost frames tell what was being done; a graph in capture counts where they tell nothing."""
    frames = next((hit.frames for hit in hits if hit.frames), ()) or _native(hits)
    inner = frames[-1].rpartition("/")[2] if frames and not _WAITS.search(frames[-1]) else ""
    if any((hit.groups.get("signal") or hit.groups.get("caught") or hit.groups.get("bare") or "").startswith("I")
           or hit.groups.get("short") == "ILL" for hit in hits):  # fmt: skip
        message = INSTRUCTION
    else:
        message = next(
            (said for pattern, said in _BY_FRAME if any(pattern.search(each) for each in frames[-_INNER:])),
            CAPTURE if any(_CAPTURES.search(each) for each in frames) else PLAIN,
        )
    saved = message is SAVING
    if message in (SAVING, PLAIN) and any(hit.groups.get("forked") for hit in hits):
        message = FORKED
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, saved=saved,
        inner=inner.removeprefix("<unknown>:"),
    )  # fmt: skip
