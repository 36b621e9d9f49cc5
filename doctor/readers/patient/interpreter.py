"""Collects the fact `interpreter`."""

from __future__ import annotations

from pathlib import Path

from doctor.base.fact import fact
from doctor.facts.interpreter import Interpreter
from doctor.facts.target import Target


@fact(timeout_s=4.0)
def collect(target: Target) -> Interpreter:
    """Read the probe's answer about the interpreter itself."""
    raw = target.raw
    if raw["conda"] or Path(raw["prefix"], "conda-meta").is_dir():
        kind = "conda"
    else:
        kind = "venv" if raw["prefix"] != raw["base_prefix"] else "system"
    return Interpreter(
        executable=target.executable,
        version=raw["version"],
        implementation=raw["implementation"],
        chosen_because=target.chosen_because,
        environment_kind=kind,
        prefix=raw["prefix"],
        base_prefix=raw["base_prefix"],
        path=tuple(raw["path"]),
        pythonpath=tuple(raw["pythonpath"]),
        user_site=raw["user_site"],
        platform=raw["platform"],
        machine=raw["machine"],
        glibc=raw["glibc"],
        is_own=target.is_own,
        first_on_path=target.first,
        command_starts=target.command_starts,
    )
