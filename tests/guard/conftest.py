"""What the tests of the guard share: the carried doctor, and the real stack of tests/real."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from doctor.readers.patient.carry import carry, rule_modules
from doctor.run.folder import RunDir
from tests.real.conftest import Nursery, model, nursery, python, shared  # noqa: F401 - fixtures
from tests.real.runs import Ran

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guard, as it is carried into an environment without the doctor."""
    into = tmp_path_factory.mktemp("carried")
    return carry(["doctor.run.phases", "doctor.monitors.guard", *rule_modules()], into)


@dataclass(frozen=True)
class Guarded:
    """A guarded run that has ended, and what it left."""

    ran: Ran
    run: RunDir

    @property
    def text(self) -> str:
        return self.ran.text

    @property
    def result(self) -> dict[str, Any]:
        """What the program found in the end; fails where it did not come so far."""
        path = self.ran.folder / "result-0.json"
        assert path.is_file(), self.text[-3000:]
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.run.read_events() if each["kind"] == kind]

    @property
    def alarms(self) -> list[tuple[str, int, str]]:
        """Id, step and policy of each alarm."""
        return [(each["id"], each["step"], each["data"]["policy"]) for each in self.events("alarm")]

    def alarm(self, problem: str) -> dict[str, Any]:
        """What the event of a problem's first alarm holds."""
        found: dict[str, Any] = next(each["data"] for each in self.events("alarm") if each["id"] == problem)
        return found


@pytest.fixture
def guarded(
    nursery: Nursery,  # noqa: F811
    model: Path,  # noqa: F811
    carried: Path,
    tmp_path: Path,
) -> Callable[..., Guarded]:
    """A function that runs a case of `programs/guarded.py` to its end, with a run folder."""

    def run_case(case: str, *, guard: bool = True, seed: int = 1) -> Guarded:
        folder = tmp_path / f"{case}-{guard}-{seed}"
        run = RunDir(folder / "run")
        run.path.mkdir(parents=True)
        argv = [str(PROGRAMS / "guarded.py"), str(carried) if guard else "none", str(model), case, str(seed)]
        ran = nursery.run(argv, folder)
        assert ran.code is not None, f"the time limit ended it:\n{ran.text[-3000:]}"
        return Guarded(ran, run)

    return run_case
