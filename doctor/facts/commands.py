"""The launchers that PATH gives, and the interpreter each of them would start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.record import record

#: what is looked up
NAMES = (
    "accelerate", "torchrun", "deepspeed", "trl", "vllm", "ray", "trinity", "swift", "megatron", "llamafactory-cli",
    "lmf", "axolotl", "oumi", "python", "python3", "pip", "uv", "ninja", "ds_report", "huggingface-cli", "hf", "pdsh",
)  # fmt: skip


@record
class Command:
    """A console script: its path and the interpreter of its first line (None for a binary or an `env` that fails).

    `problem` says why the interpreter cannot be told: a shim, an `env` that finds nothing, or a path that is gone.
    `folder` is the interpreter's without links: a home that is a link (`/home/u` to `/data/home/u`) has two names.
    """

    name: str
    path: str
    interpreter: str | None = None
    problem: str | None = None
    folder: str | None = None


@record
class Commands:
    """`accelerate`, `torchrun`, `vllm`, `python` and the other names of `NAMES`, as PATH resolves them."""

    found: Mapping[str, Command] = field(default_factory=dict)
