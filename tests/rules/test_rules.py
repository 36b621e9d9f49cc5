"""Every rule of the catalogue: the series in which it must go off, and at which step, and those that it must bear."""

from __future__ import annotations

import json
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


#: imports modules, each in a fork, and prints which others of the doctor came with it
IMPORTED = """
import importlib, json, os, sys
assert not any(name.startswith("doctor") for name in sys.modules)
for module in sys.argv[1:]:
    if os.fork() == 0:
        importlib.import_module(module)
        print(json.dumps([module, [name for name in sys.modules if name.startswith("doctor")]]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, module
"""


@pytest.mark.process
def test_rules_need_nothing_but_the_core() -> None:
    """They are carried into the patient's interpreter, where nothing of the doctor is installed."""
    argv = [sys.executable, "-c", IMPORTED, *(entry.module for entry in RULES)]
    told = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=200).stdout.splitlines()
    more = {}
    for module, imported in map(json.loads, told):
        parts = module.split(".")  # the area and the topic are packages without code
        packages = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        own = ("doctor.base.", "doctor.catalogue.", f"{packages[-2]}._")  # and what a long rule is divided into
        allowed = {"doctor", "doctor.base", "doctor.catalogue", *packages}
        more[module] = [name for name in imported if name not in allowed and not name.startswith(own)]
    assert more == {entry.module: [] for entry in RULES}


@pytest.mark.parametrize("entry", RULES, ids=lambda entry: entry.id)
def test_causes_that_a_rule_names_exist(entry) -> None:
    known = {each.id for each in load()}
    for value in vars(module_of(entry)).values():
        if isinstance(value, type) and "__doctor_rule__" in vars(value):
            assert set(vars(value)["__doctor_rule__"][2]) <= known - {entry.id}
