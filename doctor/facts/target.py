"""The interpreter that is judged, and what the probe says about it: one run for both of its facts.

Chosen in this order: `--python`; the interpreter that the launch command would really start; the active venv or
conda environment; the one that stands in the project's folder; the doctor's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from doctor.base.record import record

INACTIVE = "the environment"  # how the reason begins where the project's was taken although it is not active


@record
class Target:
    """An interpreter and the probe's answer.

    Args:
        executable: path as found; `chosen_because` one clause.
        first: what the launched process has first on its path (the script's folder, or the working folder for `-m`).
        raw: the probe's JSON, see `probe.report`.
        command_starts: interpreter that the launch command starts, where `--python` named the one that is judged.

    """

    executable: str
    chosen_because: str
    is_own: bool = False
    first: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    command_starts: str | None = None
