"""The line of a report that says what was examined."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.diagnosis.diagnose import summary
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Distribution, Packages


def clauses(because: str, *packages: str, complete: bool = True) -> list[str]:
    interpreter = Interpreter("/v/bin/python", version="3.11.7", chosen_because=because, environment_kind="venv")
    held = Packages({name: Distribution(name, "1.0") for name in packages}, complete=complete)
    return list(summary({"interpreter": Observed.seen(interpreter), "packages": Observed.seen(held)}))


def test_an_environment_made_for_the_doctor_is_told_as_such() -> None:
    nothing = clauses("the doctor's own", "grpo-doctor", "click")
    assert nothing == ["python 3.11.7, the doctor's own environment: pass --python to check yours"]
    assert clauses("the doctor's own, for `accelerate` is not on PATH", "click") == nothing


def test_an_environment_that_trains_or_was_named_is_the_users() -> None:
    assert clauses("the doctor's own", "trl") == ["python 3.11.7 (venv)", "trl 1.0"]
    assert clauses("active venv", "click") == ["python 3.11.7 (venv)"]
    assert clauses("the doctor's own", "click", complete=False) == ["python 3.11.7 (venv)"]


def test_pins_of_the_project_are_told_as_such() -> None:
    interpreter = Interpreter("/v/bin/python", version="3.11.7", chosen_because="", environment_kind="venv")
    held = Packages({"trl": Distribution("trl", "1.0")}, complete=False, source="requirements.txt", pinned=True)
    told = list(summary({"interpreter": Observed.seen(interpreter), "packages": Observed.seen(held)}))
    assert told[1:] == ["packages as pinned in requirements.txt, because this Python has none that train", "trl 1.0"]
