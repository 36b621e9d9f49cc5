"""Judges cuda-call-fails (TOR060), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
_BINARY = TOML["binary"]
_FORKED = TOML["forked"]
_ENDING = TOML["ending"]
_HANDLE = TOML["handle"]
_NO_DEVICE = TOML["no_device"]
_STUB = TOML["stub"]
_RESOURCES = TOML["resources"]
_CONVOLUTION = TOML["convolution"]
_COOPERATIVE = TOML["cooperative"]
_JIT = TOML["jit"]
_MPS = TOML["mps"]
_OLD = TOML["old"]
_UNKNOWN = TOML["unknown"]


#: text of the error -> what is said of it
TEXTS = {
    "invalid device function": _BINARY,
    "device kernel image is invalid": _BINARY,
    "named symbol not found": _BINARY,
    "shared object symbol not found": _BINARY,
    "shared object initialization failed": _BINARY,
    "invalid device symbol": _BINARY,
    "initialization error": _FORKED,
    "driver shutting down": _ENDING,
    "context is destroyed": _ENDING,
    "invalid resource handle": _HANDLE,
    "invalid device context": _HANDLE,
    "no CUDA-capable device is detected": _NO_DEVICE,
    "CUDA driver is a stub library": _STUB,
    "too many resources requested for launch": _RESOURCES,
    "too many blocks in cooperative launch": _COOPERATIVE,
    "a PTX JIT compilation failed": _JIT,
    "PTX JIT compiler library not found": _JIT,
    "the remote procedural call between the MPS server and the MPS client failed": _MPS,
    "MPS client failed to connect to the MPS control daemon or the MPS server": _MPS,
    "the MPS server is not ready to accept new MPS client requests": _MPS,
    "the hardware resources required to create MPS client have been exhausted": _MPS,
    "the hardware resources required to device connections have been exhausted": _MPS,
    "API call is not supported in the installed CUDA driver": _OLD,
    "unknown error": _UNKNOWN,
}


def explain(hits: Hits) -> Finding:
    """What its text calls for; a convolution that does not fit is one in bf16."""
    text = hits.first.groups["text"]
    convolves = TEXTS[text] is _RESOURCES and any("_conv_forward" in one for one in hits.first.frames[-2:])
    return found(
        PROBLEM, _CONVOLUTION if convolves else TEXTS[text], where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, text=text,
    )  # fmt: skip
