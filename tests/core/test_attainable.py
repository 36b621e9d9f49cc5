"""No command orders a release that the interpreter cannot have."""

from __future__ import annotations

import pytest

from doctor.base.fact import world_of
from doctor.catalogue.finding import Message, Words, found
from doctor.catalogue.index import load
from doctor.catalogue.problem import ERROR, Problem
from doctor.diagnosis.installable import attainable
from doctor.diagnosis.runner import run_checks
from tests.checks.cases import states

PROBLEM = Problem(id="TRL2205/not_yet", name="argument-not-yet", severity=ERROR, since="0.1")
MESSAGE = Message(en=Words("a", "b", "c"))


@pytest.mark.parametrize(
    ("python", "command", "stays"),
    [
        ("3.8.10", 'pip install "trl>=0.14"', False),
        ("3.8.10", "pip install -U 'trl>=0.18'", False),
        ("3.8.10", 'pip install "trl<0.11"', True),
        ("3.9.2", 'pip install "trl>=0.14"', True),
        ("3.8.10", 'python -m pip install "transformers[torch]>=5"', False),
        ("3.8.10", "pip install trl", True),
        ("3.8.10", 'pip install "nobodys-package>=3"', True),
        ("3.8.10", "fp16=True", True),
    ],
)
def test_commands(python: str, command: str, stays: bool) -> None:
    finding = attainable(found(PROBLEM, MESSAGE, commands=(command, "doctor explain TRL2205/not_yet")), python)
    assert (command in finding.commands) is stays
    assert "doctor explain TRL2205/not_yet" in finding.commands


def test_nothing_orders_what_python_3_8_cannot_have() -> None:
    given = states(
        {
            "interpreter": {"executable": "/e38/bin/python", "version": "3.8.10", "chosen_because": "`python` on PATH"},
            "packages": {"trl": "0.11.4"},
            "training": {
                "config_class": "GRPOConfig",
                "trainer": "GRPOTrainer",
                "arguments": {"beta": 0.1, "use_vllm": True},
            },
            "script": {
                "path": "t.py",
                "imports": {"trl.GRPOTrainer": {"file": "t.py", "line": 1}},
                "needs": {"trl.GRPOTrainer": {"file": "t.py", "line": 1}},
            },
        },
        dict.fromkeys(("launch", "environment", "world", "gpus", "model", "dataset", "host"), "not asked"),
    )
    entries = [each for each in load() if each.id in ("PYT001", "PYT5808/name", "TRL2205/not_yet", "TRL005", "TRL011")]
    outcome = run_checks(entries, world_of(given))
    assert [each.problem.id for each in outcome.findings] == ["PYT001"]
    assert not [
        each for finding in outcome.findings for each in finding.commands if "pip install" in each and "trl" in each
    ]
