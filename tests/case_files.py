"""Reads files of cases in YAML: about 400 of them, so by the parser in C where PyYAML has it (ten times as fast)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_cases(file: Path) -> dict[str, Any]:
    """Name and content of each case."""
    cases: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe one
    return cases
