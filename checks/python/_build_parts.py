"""What compilers and linkers ask for by file name, where it comes from, and what is said of it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.finding import Message, Phrase
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
FILE, TOOL, WINDOWS = TOML["file"], TOML["tool"], TOML["windows"]

#: beginning of a header's or library's name -> phrase for what brings it; the first that fits
SOURCES = {
    "cudnn": "cudnn",
    "nccl": "nccl",
    "nvtx": "toolkit",
    "nvToolsExt": "toolkit",
    "cutlass": "submodules",
    "cute": "submodules",
    "cu": "toolkit",
    "nv": "toolkit",
    "thrust": "toolkit",
    "vector_types": "toolkit",
    "mpi": "mpi",
    "libaio": "aio",
    "aio": "aio",
    "infiniband": "verbs",
    "ibverbs": "verbs",
    "numa": "numa",
    "ffi": "ffi",
    "openssl": "ssl",
    "ssl": "ssl",
    "torch": "torch",
    "hip": "hip",
    "stdc++": "cxx",
    "gomp": "gomp",
}
#: tool -> phrase for what brings it, else a compiler does
TOOLS = {
    "cmake": "tool.cmake", "ninja": "tool.ninja", "cargo": "tool.rust", "rustc": "tool.rust", "rust": "tool.rust",
    "git": "tool.git", "nvcc": "source.toolkit",
}  # fmt: skip

_SIMPLE = {
    "floor": TOML["cmake"], "newest": TOML["gcc"], "visual": TOML["visual"], "standard": TOML["standard"],
    "op": TOML["operation"], "msvc": WINDOWS,
}  # fmt: skip
_LANGUAGES = {"C": "gcc", "CXX": "g++", "CUDA": "nvcc"}


def told(kind: str, name: str) -> tuple[Message, dict[str, Any]]:
    """What is said of a thing that is absent or does not fit, and what fills its words.

    Args:
        kind: name of the group that caught it: "header", "library", "tool", "language", "rust", or one of `_SIMPLE`.
        name: what it caught.

    """
    if kind in _SIMPLE:
        return _SIMPLE[kind], {"name": name}
    if kind in ("header", "library"):
        return FILE, {"name": name, "source": source_of(name), "what": TOML.phrase(kind)}
    tool = _LANGUAGES.get(name, name) if kind == "language" else "cargo" if kind == "rust" else name
    base = tool.replace("\\", "/").rpartition("/")[2]
    if base in ("cl", "cl.exe"):
        return WINDOWS, {}
    return TOOL, {"name": base, "source": TOML.phrase(TOOLS.get(base, "tool.compiler"))}


def source_of(name: str) -> Phrase:
    """What brings a header or library."""
    source = next((source for begin, source in SOURCES.items() if name.startswith((begin, f"lib{begin}"))), "other")
    return TOML.phrase(f"source.{source}", name=name)
