"""One test a case: `pytest -k VLL001` runs the cases of one problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.core import index
from tests.case_files import read_cases

from .cases import compare, run_case

HERE = Path(__file__).parent
ENTRIES = {entry.id: entry for entry in index.load()}


def _all_cases() -> list[Any]:
    return [
        pytest.param(path.stem, case, id=f"{path.stem}-{name}")
        for path in sorted(HERE.glob("*.yaml"))
        for name, case in read_cases(path).items()
    ]


@pytest.mark.parametrize(("problem_id", "case"), _all_cases())
def test_case(problem_id: str, case: dict[str, Any], tmp_path: Path) -> None:
    entry = ENTRIES[problem_id]
    compare(case, run_case(entry, case, tmp_path), tmp_path)


def test_every_check_has_cases_that_find_and_cases_that_do_not() -> None:
    lacking = []
    for entry in ENTRIES.values():
        path = HERE / f"{entry.id}.yaml"
        cases = read_cases(path).values() if path.exists() else ()
        if entry.checks and not (any("found" in case for case in cases) and any("found" not in case for case in cases)):
            lacking.append(entry.id)
    assert not lacking


def test_every_case_file_belongs_to_a_problem() -> None:
    assert {path.stem for path in HERE.glob("*.yaml")} <= set(ENTRIES)
