"""Every rule of the catalogue: the series in which it must go off, and at which step, and those that it must bear."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from doctor.catalogue.index import load
from tests.case_files import read_cases
from tests.each import for_each

from .series_cases import compare, module_of, run_case

FOLDER = Path(__file__).parent
RULES = [entry for entry in load() if entry.has_rule]
FILES = {entry.id: FOLDER / f"{entry.id}.yaml" for entry in RULES}
CASES = [
    (f"{entry.id}-{name}", (entry, case))
    for entry in RULES
    if FILES[entry.id].exists()
    for name, case in read_cases(FILES[entry.id]).items()
]


@for_each("entry, case", CASES)
def test_series(entry, case) -> None:
    compare(case, run_case(entry, case))


@pytest.mark.parametrize("entry", RULES, ids=lambda entry: entry.id)
def test_each_rule_has_cases_that_find_and_cases_that_do_not(entry) -> None:
    cases = read_cases(FILES[entry.id]).values()
    assert any("found" in case for case in cases)
    assert any("silent" in case for case in cases)


def test_no_case_file_without_a_rule() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(FILES)


@pytest.mark.process
@pytest.mark.parametrize("entry", RULES, ids=lambda entry: entry.id)
def test_rule_needs_nothing_but_the_core(entry) -> None:
    """It is carried into the patient's interpreter, where nothing of the doctor is installed."""
    parts = entry.module.split(".")  # the area and the topic are packages without code
    packages = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    own = ("doctor.base.", "doctor.catalogue.", f"{packages[-2]}._")  # and what a long rule is divided into
    code = (
        "import sys; before = set(sys.modules)\n"
        f"import {entry.module}\n"
        "new = {name for name in set(sys.modules) - before if name.startswith('doctor')}\n"
        f"allowed = {{'doctor.base', 'doctor.catalogue', *{packages}}}\n"
        f"print(sorted(name for name in new - allowed if not name.startswith({own})))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("entry", RULES, ids=lambda entry: entry.id)
def test_causes_that_a_rule_names_exist(entry) -> None:
    known = {each.id for each in load()}
    for value in vars(module_of(entry)).values():
        if isinstance(value, type) and "__doctor_rule__" in vars(value):
            assert set(vars(value)["__doctor_rule__"][2]) <= known - {entry.id}
