"""Where each fact is collected: its reader has the name of the fact's module."""

from __future__ import annotations

from collections.abc import Mapping

#: folder of `doctor/readers` -> facts that it collects
ROOMS: Mapping[str, tuple[str, ...]] = {
    "command": (
        "choices",
        "commands",
        "launch",
        "serving",
        "training",
        "world",
    ),
    "files": (
        "accelerate_config",
        "adapters",
        "checkpoints",
        "dataset",
        "deepspeed_config",
        "framework_config",
        "llamafactory_data",
        "model",
        "trinity_config",
        "verl_config",
    ),
    "given": (
        "cluster",
        "sampled",
    ),
    "machine": (
        "collectives",
        "cuda",
        "deep",
        "environment",
        "gpus",
        "host",
        "hub",
        "network",
        "node",
        "nvidia",
        "ray_cluster",
    ),
    "patient": (
        "framework_words",
        "interpreter",
        "packages",
        "target",
    ),
    "script": ("script",),
}

#: what goes to another machine that is to collect facts: all readers with what they need, see `patient.carry`
PACKAGES = ("doctor.facts", "doctor.readers", *(f"doctor.readers.{room}" for room in ROOMS))
#: these, and what they import only where they need it
CARRIED = (*PACKAGES, "doctor.base.redact", "doctor.base.asking")

#: fact -> module with its `collect`
READERS: dict[str, str] = {name: f"doctor.readers.{room}.{name}" for room, names in ROOMS.items() for name in names}
