"""Per-release fact tables: columns from METADATA beside columns that were collected by hand (``seed/*.json``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from versiondata.history import Column, column
from versiondata.metadata import metadata_columns, pin_of, specifier, torch_cuda

Requirements = list[Requirement]


def _of(name: str, extra: str | None = None) -> Any:
    return lambda found: specifier(found, name, extra)


METADATA_FIELDS: dict[str, dict[str, Any]] = {
    "vllm": {"torch": _of("torch"), "transformers": _of("transformers"), "numpy": _of("numpy")},
    "torch": {
        "cuda": torch_cuda,
        "cublas": lambda found: pin_of(found, "nvidia-cublas"),
        "cudnn": lambda found: pin_of(found, "nvidia-cudnn"),
        "nccl": lambda found: pin_of(found, "nvidia-nccl"),
        "triton": _of("triton"),
    },
    "trl": {
        "transformers": _of("transformers"),
        "accelerate": _of("accelerate"),
        "datasets": _of("datasets"),
        "vllm_extra": _of("vllm", "vllm"),
        "deepspeed_extra": _of("deepspeed", "deepspeed"),
        "peft_extra": _of("peft", "peft"),
    },
    "deepspeed": {},
}


def fact_table(package: str, per_version: Mapping[str, str | None], seed: Mapping[str, Any]) -> dict[str, Any]:
    """Content of ``<package>.json``: metadata columns and hand-collected ones over the releases in ``per_version``."""
    columns = metadata_columns(per_version, METADATA_FIELDS[package])
    for name, hand in seed["columns"].items():
        columns[name] = within(hand, list(per_version), seed["versions"][0], seed["checked_through"])
    return {"versions": list(per_version), "columns": columns, "checked_through": seed["checked_through"]}


def within(hand: Column, order: list[str], first: str, last: str) -> Column:
    """A hand-collected column spread over the listed releases, None outside the span in which somebody looked."""
    starts = [(Version(since), value) for since, value in hand]

    def value_for(version: str) -> Any:
        parsed = Version(version)
        if not Version(first) <= parsed <= Version(last):
            return None
        known = [value for since, value in starts if since <= parsed]
        return known[-1] if known else None

    return column((version, value_for(version)) for version in order)
