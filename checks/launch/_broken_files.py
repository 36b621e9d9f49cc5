"""Every file of the command that could not be read, with what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.base.fact import BrokenFile

MISSING = "does not exist"

KINDS = {
    "script": "training script",
    "opened": "configuration that the script opens",
    "accelerate": "accelerate configuration",
    "deepspeed": "DeepSpeed configuration",
    "training": "TRL configuration",
    "verl": "veRL configuration",
    "trinity": "Trinity-RFT configuration",
    "model": "model",
    "dataset": "dataset",
}


def broken_files(facts: dict[str, Any]) -> Iterator[tuple[str, BrokenFile]]:
    """(kind, file) of every fact that carries a `broken`, each file once."""
    seen = set()
    for kind, fact in facts.items():
        broken = fact.broken if fact is not None else None
        if broken is not None and broken.place not in seen:
            seen.add(broken.place)
            yield kind, broken
