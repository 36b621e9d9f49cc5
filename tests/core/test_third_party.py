"""A third party's problems: found through the entry-point group, run, listed and explained like our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.environments import run_doctor

pytestmark = pytest.mark.process

PROBLEM = '''"""The house cluster forbids Python 2.

## What it means
A made-up rule.
## What it does to a run
Nothing.
## What to do
Nothing.
## How it is found
By being here.
## References
https://example.org/rules
"""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Message, Words, found
from doctor.catalogue.problem import INFO, Problem
from doctor.facts.interpreter import Interpreter

PROBLEM = Problem(id="PYT901", name="house-rule", severity=INFO, since="0.1")
MESSAGE = Message(Words("python is {version}", "It is known.", "Carry on."))


@check(PROBLEM)
def house_rule(interpreter: Interpreter) -> Judgement:
    """Always found."""
    yield found(PROBLEM, MESSAGE, version=interpreter.version)
'''


def test_problem_of_a_third_party(tmp_path: Path) -> None:
    site = tmp_path / "site"
    area = site / "house_checks" / "python"
    area.mkdir(parents=True)
    (site / "house_checks" / "__init__.py").write_text("")
    (area / "__init__.py").write_text("")
    (area / "house_rule.py").write_text(PROBLEM)
    info = site / "house_checks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-checks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[doctor.checks]\nhouse = house_checks\n")
    env = {"PYTHONPATH": str(site)}
    report = json.loads(run_doctor("check", "--format", "json", cwd=tmp_path, env=env).stdout)
    assert "PYT901" in {each["id"] for each in report["findings"]}
    assert "house-rule" in run_doctor("explain", "PYT901", cwd=tmp_path, env=env).stdout
    assert "PYT901" not in run_doctor("list", cwd=tmp_path).stdout
    (area / "torn_rule.py").write_text('PROBLEM = Problem(id="PYT902"')
    torn = json.loads(run_doctor("check", "--format", "json", cwd=tmp_path, env=env).stdout)
    assert "PYT901" in {each["id"] for each in torn["findings"]}
    assert [each["id"] for each in torn["crashed"]] == ["house_checks.python.torn_rule"]
    assert "SyntaxError" in torn["crashed"][0]["error"]
