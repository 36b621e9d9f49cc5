"""Reads files of cases in YAML: about 400 of them, so by the parser in C where PyYAML has it (ten times as fast)."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _parsed(file: Path) -> bytes:
    return pickle.dumps(yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER))  # noqa: S506 - a safe one


def read_cases(file: Path) -> dict[str, Any]:
    """Name and content of each case, parsed once; a copy for each who asks, for a test may change its own."""
    cases: dict[str, Any] = pickle.loads(_parsed(file))  # noqa: S301 - made above
    return cases
