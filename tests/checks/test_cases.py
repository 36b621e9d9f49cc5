"""One test an area: `pytest -k VLL001` runs the cases of one problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doctor.catalogue import index
from tests.case_files import read_cases
from tests.each import for_each

from .cases import compare, run_case

HERE = Path(__file__).parent
ENTRIES = {entry.id: entry for entry in index.load()}


def case_files() -> list[tuple[str, Path]]:
    """Id, with the row of a table behind it, and file."""
    return [(path.relative_to(HERE).with_suffix("").as_posix(), path) for path in sorted(HERE.rglob("*.yaml"))]


def _all_cases() -> list[tuple[str, Any]]:
    return [
        (f"{problem_id}-{name}", (problem_id, case))
        for problem_id, path in case_files()
        for name, case in read_cases(path).items()
    ]


@for_each("problem_id, case", _all_cases())
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
    assert {problem_id for problem_id, _ in case_files()} <= set(ENTRIES)
