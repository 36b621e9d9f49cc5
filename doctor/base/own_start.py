"""The words that start a module of the doctor as a process of its own, whatever else is called `doctor` on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import doctor

#: beside the package where it is installed; not where its modules were only copied to
_START = Path(doctor.__file__).parents[1] / "grpo_doctor.py"


def own_module(name: str) -> list[str]:
    """The command that runs a module of the doctor."""
    return [sys.executable, str(_START), "--as-module", name] if _START.is_file() else [sys.executable, "-m", name]
