"""What the tests of the real stack share: an interpreter, and the models and data of the programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.real.runs import environment, interpreter
from tests.rehearse.running import make_stage


@pytest.fixture(scope="session")
def python() -> Path:
    """The interpreter with the real stack."""
    return interpreter()


@pytest.fixture(scope="session")
def stage(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Models and data for the releases beside the interpreter that are named, made once."""

    @cache
    def of(beside: str) -> Path:
        folder = tmp_path_factory.mktemp("stage")
        make_stage(python, folder, environment(python, folder), beside)
        return folder

    return of
